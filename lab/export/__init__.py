"""A flow in other forms: properties of a dedicated MM2, and what Kubernetes and Strimzi call it.

    meaning.py     what a connector comes to: when two configs are the same
    flow.py        the connectors as they run, by pair of clusters; what no form can say is refused
    clusters.py    what a flow's connectors say of a cluster: address, trust, login, other settings
    shared.py      where a form has one value for several connectors
    properties.py  the file of connect-mirror-maker.sh
    strimzi.py     the resource KafkaMirrorMaker2
    kubernetes.py  ConfigMap, Pod and Secrets
    documents.py   YAML

Each form has its reader, and nothing is handed out that does not read back as the flow it came from.
No value of a secret is in a flow's other forms: they refer to it, and only `kubernetes.secrets` holds it.
"""

from lab.export.flow import Export, Flow

__all__ = ["Export", "Flow"]
