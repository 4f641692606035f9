"""What an application reads is a pattern or topics; settings that decide about commits are its own."""

from typing import Any

import pytest

from lab.consuming import Subscription
from lab.errors import BadInput


def test_a_pattern_is_of_the_whole_name() -> None:
    """librdkafka would find it anywhere behind the start."""
    assert Subscription(group="g", pattern=".*ExampleTopic").subscribed == ["^(.*ExampleTopic)$"]
    assert Subscription(group="g", topics=("a", "b")).subscribed == ["a", "b"]


def test_offsets_are_committed_by_nobody_else() -> None:
    given = Subscription(group="g", topics=("a",), client={"session.timeout.ms": "6000"})

    assert given.config == {
        "group.id": "g",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "topic.metadata.refresh.interval.ms": 5_000,
        "allow.auto.create.topics": False,
        "session.timeout.ms": "6000",
    }


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"group": ""}, "a group needs a name"),
        ({"topics": ()}, "topics or a pattern: one of them, and not both"),
        ({"pattern": ".*"}, "topics or a pattern: one of them, and not both"),
        ({"commit_every_s": -1.0}, "-1.0 seconds are no interval"),
        ({"refresh_topics_s": 0.0}, "0.0 seconds are no interval"),
        ({"auto_offset_reset": "none"}, 'auto.offset.reset is no "none"'),
        ({"client": {"enable.auto.commit": "true"}}, "the application itself sets enable.auto.commit"),
    ],
)
def test_one_that_cannot_be_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput) as caught:
        Subscription(**{"group": "g", "topics": ("orders",), **wrong})

    assert caught.value.message == message
    assert caught.value.hint == "auto.offset.reset is one of earliest, latest, error"
