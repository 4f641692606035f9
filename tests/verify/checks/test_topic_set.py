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
