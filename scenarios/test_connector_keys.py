"""The lab knows every key that a running worker knows, so that what it refuses is really unknown.

Claim: for each of MM2's three connectors, all keys that the worker's own validation names pass the
lab's check for unknown keys, and a mistyped one does not.
"""

import pytest

from lab.harness import Lab
from lab.mm2 import CHECKPOINT, HEARTBEAT, SOURCE, Connector, unknown_keys

pytestmark = pytest.mark.topology("basic-mirror")


@pytest.mark.parametrize("connector_class", [SOURCE, CHECKPOINT, HEARTBEAT])
def test_no_key_of_the_worker_is_unknown_to_the_lab(lab: Lab, connector_class: str) -> None:
    clusters = {f"{side}.cluster.bootstrap.servers": "broker:29092" for side in ("source", "target")}
    config = {"connector.class": connector_class, "source.cluster.alias": "source", **clusters}
    keys = lab.connect.known_keys(Connector(name="any", config=config))
    assert len(keys) > 50
    assert list(unknown_keys(Connector(name="any", config=dict.fromkeys(keys, "")))) == []


def test_a_mistyped_key_is_unknown_to_the_lab() -> None:
    (problem,) = unknown_keys(Connector(name="any", config={"topic": "orders"}))
    assert (problem.key, problem.remedy) == ("topic", 'did you mean "topics"?')
