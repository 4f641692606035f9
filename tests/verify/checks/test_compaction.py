"""The last value of every key is the same, or the key is named."""

import pytest

from lab.verify.checks import SameLastValues
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(SameLastValues().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.NOT_APPLICABLE, "the topic is not compacted, or holds no record"),
        ({"keys": 9, "deleted": 2}, Outcome.PASS, "7 keys have the same last value, 2 are deleted"),
        (
            {"keys": 9, "gone_from_target": 2},
            Outcome.UNKNOWN,
            "of 9 keys 2 are not on the target, which has deleted its beginning",
        ),
        ({"keys": 9, "missing": 1}, Outcome.FAIL, "of 9 keys 1 have no value on the target"),
        (
            {"keys": 9, "missing": 1, "stale": 2, "alive": 3},
            Outcome.FAIL,
            "of 9 keys 1 have no value on the target, 2 have another last value "
            "there, 3 are deleted in the source and have a value on the target",
        ),
    ],
)
def test_what_counts_mean(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert SameLastValues().judge(NONE | counts) == (outcome, told)
