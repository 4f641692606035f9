"""What is judged in another one's place is read in its place, a second time too."""

from typing import Any

from lab.verify.evidence import Histories


def test_other_records_in_the_targets_place_are_read_again_as_a_whole() -> None:
    frame: Any = object()
    output: Any = object()
    histories = Histories(
        source=frame,
        target=frame,
        ledger=frame,
        partitions=frame,
        read_again={side: lambda _: frame for side in "st"},
    )

    found = histories.with_target(output)

    assert histories.read_again.keys() == {"s", "t"}
    assert found.target is output
    assert found.read_again.keys() == {"s"}
