"""Configs follow MM2's rules; an excluded key of unknown past is left out."""

import pytest

from lab.verify.checks.topic_configs import SameTopicConfigs
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(SameTopicConfigs().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.UNKNOWN, "no mirrored topic's config was read"),
        ({"keys": 30, "judged": 30}, Outcome.PASS, "30 config keys are as MM2's rules have it"),
        (
            {"keys": 30, "judged": 24},
            Outcome.PASS,
            "24 config keys are as MM2's rules have it; 6 are excluded, and nobody knows what "
            "they were before",
        ),
        (
            {"keys": 30, "judged": 30, "copied": 1, "reset": 2, "untouched": 3},
            Outcome.FAIL,
            "of 30 config keys 1 are not the source's, 2 stand on the target although the source "
            "has the default, 3 are excluded and became, since the last verdict, what MM2 would make of them",
        ),
    ],
)
def test_configs_are_copied_reset_or_left_alone(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert SameTopicConfigs().judge({**NONE, **counts}) == (outcome, told)


def test_the_question_does_not_arise_when_nothing_was_asked_of_mm2() -> None:
    assert SameTopicConfigs(applies=False).judge(NONE)[0] is Outcome.NOT_APPLICABLE


def test_a_config_that_is_new_is_not_due() -> None:
    later = "will be judged after 12:10:10 UTC (sync.topic.configs.interval.seconds is 600)"
    check = SameTopicConfigs(later=later)

    assert check.judge({**NONE, "keys": 30, "judged": 30, "not_due": 1}) == (
        Outcome.UNKNOWN,
        f"1 of 30 config keys are not as MM2's rules have them, since when is not known: {later}",
    )
    assert check.judge({**NONE, "keys": 30, "judged": 30, "not_due": 1, "copied": 1})[0] is Outcome.FAIL
