"""A topology that is valid, as text to be broken, and the way into a folder of its own."""

from pathlib import Path

VALID = """\
x-lab:
  title: Two clusters
  teaches: Nothing
  kafka: ">=2.8,<4"
  clusters:
    source: [broker, broker2]
    target: [other]
  connect: [connect]
services:
  broker:
    image: kafka
    mem_limit: 1g
    ports: ["127.0.0.1:${BROKER_PORT:-9092}:9092"]
    environment:
      KAFKA_ADVERTISED_LISTENERS: INTERNAL://broker:29092,EXTERNAL://127.0.0.1:${BROKER_PORT:-9092}
    healthcheck: {test: [CMD, "true"]}
  broker2:
    image: kafka
    mem_limit: 512m
    ports: ["127.0.0.1:${BROKER2_PORT:-9093}:9092"]
    environment:
      KAFKA_ADVERTISED_LISTENERS: INTERNAL://broker2:29092,EXTERNAL://127.0.0.1:${BROKER2_PORT:-9093}
  other:
    environment: {KAFKA_ADVERTISED_LISTENERS: "INTERNAL://other:29093"}
  connect:
    environment: {CONNECT_BOOTSTRAP_SERVERS: "broker:29092", CONNECT_OFFSET_FLUSH_TIMEOUT_MS: 5000}
"""


def write(parent: Path, name: str, text: str = VALID) -> Path:
    """A topology's folder with that text as its Compose file."""
    folder = parent / name
    folder.mkdir()
    (folder / "compose.yaml").write_text(text)
    return folder
