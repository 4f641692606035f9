"""Selected topics are there, internal ones are not."""

import pytest

from lab.verify.checks.topic_set import SameTopics
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(SameTopics().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.UNKNOWN, "no topic of the source is selected"),
        ({"selected": 2}, Outcome.PASS, "all 2 selected topics are on the target"),
        (
            {"selected": 2, "left_over": 1},
            Outcome.PASS,
            "all 2 selected topics are on the target; 1 more, not selected, are there too",
        ),
        (
            {"selected": 2, "missing": 1, "too_small": 1, "internal": 1},
            Outcome.FAIL,
            "of 2 selected topics 1 are not on the target, 1 have fewer partitions there, 1 are "
            "internal, and mirrored all the same",
        ),
    ],
)
def test_selected_topics_are_there_and_internal_ones_are_not(
    counts: dict[str, int], outcome: Outcome, told: str
) -> None:
    assert SameTopics().judge({**NONE, **counts}) == (outcome, told)


def test_a_topic_that_is_new_is_not_due() -> None:
    later = "will be judged after 12:10:10 UTC (refresh.topics.interval.seconds is 600)"
    check = SameTopics(later=later)

    assert check.judge({**NONE, "selected": 2, "not_due": 1}) == (
        Outcome.UNKNOWN,
        "1 of 2 selected topics are not on the target, or have fewer partitions there, since when is not "
        f"known: {later}",
    )
    assert check.judge({**NONE, "selected": 2, "not_due": 1, "missing": 1})[0] is Outcome.FAIL
