"""A connector that names topics as only Java code knows, or drops records, is not judged."""

import pytest

from lab.errors import NotEnough
from lab.mm2 import CHECKPOINT, POLICIES, SOURCE, Connector
from lab.mm2_renaming import require_known_names

KAFKAS = "org.apache.kafka.connect.transforms"
MSKS = "com.amazonaws.kafka.samples.CustomMM2ReplicationPolicy"


def connector(**config: str) -> Connector:
    return Connector(name="mirror", config={"connector.class": SOURCE, **config})


def transforms(*kinds: str) -> Connector:
    types = {f"transforms.t{n}.type": kind for n, kind in enumerate(kinds)}
    return connector(transforms=", ".join(f"t{n}" for n in range(len(kinds))), **types)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_labs_policies_are_known(policy: str) -> None:
    require_known_names([connector(), connector(**{"replication.policy.class": policy})])


def test_a_foreign_policy_is_named() -> None:
    with pytest.raises(NotEnough) as caught:
        require_known_names([connector(), connector(**{"replication.policy.class": MSKS})])

    assert caught.value.message == (
        f'connector "mirror" names topics by "{MSKS}", a replication policy that the lab does not know: '
        "under which name a topic is on the target is not known"
    )
    assert caught.value.hint == (
        "only topics that one of these policies names can be judged: "
        "DefaultReplicationPolicy, IdentityReplicationPolicy, CustomReplicationPolicy"
    )


def test_transforms_of_contents_keep_names_and_records() -> None:
    require_known_names([transforms(f"{KAFKAS}.InsertHeader", f"{KAFKAS}.ValueToKey")])


@pytest.mark.parametrize("kind", [f"{KAFKAS}.RegexRouter", f"{KAFKAS}.Filter", "com.example.Own", ""])
def test_a_transform_that_may_rename_or_drop_is_named(kind: str) -> None:
    with pytest.raises(NotEnough) as caught:
        require_known_names([transforms(f"{KAFKAS}.InsertHeader", kind)])

    assert caught.value.message == (
        f'connector "mirror" has transforms that may rename topics or drop records: "t1" ({kind}); '
        "which records must be on the target, and where, is not known"
    )
    assert caught.value.hint == (
        'verify a connector without them: "lab mm2 set" takes the key "transforms" away'
    )


def test_other_connectors_name_no_topics() -> None:
    checkpoints = {"connector.class": CHECKPOINT, "replication.policy.class": MSKS}

    require_known_names([Connector(name="checkpoints", config=checkpoints)])
