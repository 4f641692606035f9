"""What is synced is the checkpoint, for groups without members."""

import pytest

from lab.verify.checks.group_offsets import SyncedGroupOffsets
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(SyncedGroupOffsets().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.NOT_APPLICABLE, "sync.group.offsets.enabled is false, or there are no groups"),
        (
            {"synced": 2},
            Outcome.UNKNOWN,
            "of 2 group partitions none can be judged: no checkpoint is due; is not due yet",
        ),
        (
            {"synced": 3, "judged": 3, "not_due": 1},
            Outcome.UNKNOWN,
            "1 of 3 group partitions are behind their checkpoints, since when is not known: is not due yet",
        ),
        (
            {"synced": 2, "busy": 2},
            Outcome.UNKNOWN,
            "of 2 group partitions none can be judged: 2 have members",
        ),
        ({"synced": 2, "judged": 1}, Outcome.PASS, "1 group partitions stand at their checkpoints or later"),
        (
            {"synced": 3, "judged": 3, "behind": 1, "moved_back": 2},
            Outcome.FAIL,
            "offsets that groups have on the target are not their checkpoints': 1 behind, 2 moved back",
        ),
        (
            {"synced": 3, "judged": 3, "ahead": 1, "beyond_the_end": 1},
            Outcome.FAIL,
            "offsets that groups have on the target are not their checkpoints': 1 ahead, 1 beyond the end",
        ),
    ],
)
def test_a_synced_offset_is_the_checkpoint(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert SyncedGroupOffsets().judge({**NONE, **counts}) == (outcome, told)
