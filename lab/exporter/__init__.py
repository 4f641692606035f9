"""The lab's exporter: what neither Kafka nor MM2 measures, for Prometheus.

A process of its own that knows clusters and Connect workers by their addresses. Each cluster, worker and
flow is collected on a thread of its own, again and again; a scrape is answered from what was collected
last, so it neither waits for a cluster nor costs one anything.
"""
