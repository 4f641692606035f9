"""How long MM2 may take is what its connectors' intervals say, with MM2's defaults."""

import math

import pytest

from lab.mm2 import CHECKPOINT, SOURCE, Connector
from lab.verify.due import PATIENCE_S, Due, Dues

NOON_MS = 1_795_176_000_000  # 2026-11-20 12:00:00 UTC


def connector(**config: str) -> Connector:
    return Connector(name="mirror", config={"connector.class": SOURCE, **config})


def test_without_keys_mm2s_defaults_count() -> None:
    dues = Dues.of(connector(), Connector(name="checkpoints", config={"connector.class": CHECKPOINT}))

    assert {name: due.interval_s for name, due in vars(dues).items()} == {
        "topics": 600,
        "configs": 600,
        "acls": 600,
        "covered": 660,
        "emitted": 60,
        "synced": 180,
    }


def test_the_connectors_own_intervals_count() -> None:
    due = Due.of(connector(**{"sync.topic.configs.interval.seconds": "5"}), "sync.topic.configs")

    assert (due.interval_s, due.why, due.short) == (5, "sync.topic.configs.interval.seconds is 5", True)
    assert not Due.of(connector(), "sync.topic.configs").short


def test_what_is_not_due_yet_names_when_it_will_be_judged() -> None:
    due = Due.of(connector(), "sync.topic.configs")

    assert due.later(NOON_MS) == (
        "will be judged after 12:10:10 UTC (sync.topic.configs.interval.seconds is 600)"
    )
    last = NOON_MS + (600 + int(PATIENCE_S)) * 1000
    assert (due.passed(NOON_MS, last - 1), due.passed(NOON_MS, last)) == (False, True)


def test_what_is_switched_off_is_never_due() -> None:
    due = Due.of(connector(**{"refresh.topics.enabled": "false"}), "refresh.topics")

    assert math.isinf(due.after_s)
    assert not due.passed(0, NOON_MS)
    assert due.later(NOON_MS) == "MM2 looks only when its connector starts (refresh.topics.enabled is false)"


@pytest.mark.parametrize(("interval", "short"), [("5", True), ("6", True), ("60", False)])
def test_somebody_waits_for_what_comes_within_seconds(interval: str, short: bool) -> None:
    config = {"connector.class": CHECKPOINT, "sync.group.offsets.interval.seconds": interval}

    assert Due.of(Connector(name="c", config=config), "sync.group.offsets", rounds=3).short is short
