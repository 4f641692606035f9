"""What MM2 has not done yet is not wrong, and what the lab does not know it does not guess.

Claim: with MM2's default intervals a topic, a config, an ACL and a group that changed a moment ago fail no
check, and the sentences say when they will be judged; a mirror that names topics by a policy which the lab
does not know is not judged by names that it guessed.
"""

import pytest

from lab.errors import NotEnough
from lab.harness import Lab
from lab.kafka import Acl, ClusterError, GroupOffset
from lab.mm2 import CHECKPOINT, IDENTITY_POLICY, Connector
from lab.verify.verdict import Outcome
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until
from scenarios.checkpoints import checkpoints
from scenarios.user_topics import UserTopic, failing, numbered, passes, says_when, summary

pytestmark = pytest.mark.topology("basic-mirror")

OF_MSK = "com.amazonaws.kafka.samples.CustomMM2ReplicationPolicy"


def checkpointer(user: UserTopic, groups: str, **intervals: str) -> Connector:
    """Of the flow that the topic's connector mirrors; without intervals with MM2's own, 60 s and 600 s."""
    shared = ("cluster.alias", "bootstrap.servers")
    config = {
        **{key: value for key, value in user.connector.config.items() if key.endswith(shared)},
        "connector.class": CHECKPOINT,
        "topics": user.topic,
        "groups": groups,
        "checkpoints.topic.replication.factor": "1",
        **intervals,
    }
    return Connector(name=f"{user.topic}-checkpoints", config=config)


def test_a_group_that_committed_a_moment_ago_is_not_judged_yet(lab: Lab, topic: str) -> None:
    """Checkpoints are written every minute, and new groups looked for every 10 minutes."""
    user = UserTopic(lab, topic)
    known, new = f"{topic}-known", f"{topic}-new"
    user.put(numbered(0, 300))
    user.mirror(expect=300)
    lab.source.commit(known, {(topic, 0): GroupOffset(offset=300)})
    often = checkpointer(user, f"{known},{new}", **{"emit.checkpoints.interval.seconds": "1"})
    lab.deploy(often)

    def checkpointed() -> bool | NotYet:
        place = checkpoints(lab.target, often.checkpoints_topic).get((known, user.remote, 0))
        return (place is not None and place.upstream == 300) or NotYet(f"{place}")

    wait_until(
        checkpointed, timeout_s=RECORDS_ARRIVE_S, what="a checkpoint at the head", transient=(ClusterError,)
    )
    verdicts = user.verdicts()
    passes(verdicts, records=300)
    assert {verdicts[c].outcome for c in ("coverage", "tightness")} == {Outcome.PASS}

    rarely = checkpointer(user, f"{known},{new}")
    lab.deploy(rarely)
    try:
        user.put(numbered(300, 300))
        user.arrived(600)
        for group in (known, new):
            lab.source.commit(group, {(topic, 0): GroupOffset(offset=600)})
        verdicts = user.verdicts()
    finally:  # its task ends only after its interval, while the next tests run and not when all is restored
        lab.connect.delete(rarely.name)
    assert failing(verdicts) == set(), summary(verdicts)
    says_when(verdicts["coverage"])
    if verdicts["tightness"].outcome is not Outcome.PASS:  # its checkpoint is as new as MM2 promises
        says_when(verdicts["tightness"])


def test_what_was_changed_a_moment_ago_is_not_wrong_yet(lab: Lab, topic: str) -> None:
    """MM2 looks at topics, configs and ACLs every 10 minutes."""
    guarded, new = f"{topic}-guarded", f"{topic}-new"
    user = UserTopic(lab, topic, overrides={"topics": f"{topic},{guarded},{new}"})
    lab.source.create_topic(guarded)
    user.put(numbered(0, 10))
    user.mirror(expect=10)
    passes(user.verdicts(), records=10)

    acl = Acl(
        resource="topic",
        name=guarded,
        pattern="literal",
        principal="User:reader",
        host="*",
        operation="read",
        permission="allow",
    )
    lab.source.set_topic_config(topic, **{"retention.ms": "86400000"})
    lab.source.create_topic(new)
    lab.source.create_acl(acl)
    try:
        verdicts = user.verdicts()
    finally:
        lab.source.delete_acl(acl)
    assert failing(verdicts) == set(), summary(verdicts)
    for check in ("topic_configs", "topic_set", "acls"):
        says_when(verdicts[check])


def test_names_by_a_policy_that_the_lab_does_not_know_are_not_guessed(
    lab: Lab, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Topics keep their names, as with the policy of a tutorial whose class no worker here has."""
    user = UserTopic(lab, topic, overrides={"replication.policy.class": IDENTITY_POLICY})
    user.put(numbered(0, 10))
    user.mirror(expect=10)
    assert user.remote == topic
    passes(user.verdicts(), records=10)

    unknown = user.connector.with_overrides({"replication.policy.class": OF_MSK})
    monkeypatch.setattr(lab, "deployed", lambda: [unknown])
    with pytest.raises(NotEnough, match=OF_MSK):
        lab.verify(topic, timeout_s=15)
