"""A fault's file tells, whenever its writer was killed, whether something may be in force."""

from pathlib import Path

import pytest

from lab.errors import LabError
from lab.faults import entries, open_entries, spans
from lab.faults.inverse import Inverse, Nothing
from lab.faults.journal import Entry, folder, new_id


def opened(inverse: Inverse | None = None, *, what: str = "kill one") -> Entry:
    undone_by = inverse or Nothing(why="it is a test")
    return Entry.open("a", new_id(), what=what, settings={}, inverse=undone_by, limit_s=9.0)


def test_a_fault_is_open_from_its_first_line_until_it_is_healed() -> None:
    entry = opened()
    assert [found.what for found in open_entries("a")] == ["kill one"]

    entry.write("proved", by="seen")
    assert entry.is_open
    assert entry.heal("me") == "nothing to undo: it is a test"

    assert not entry.is_open
    assert open_entries("a") == []
    assert entries("a") == [entry]
    assert entry.events()[-1] | {"at": 0} == {
        "event": "healed",
        "at": 0,
        "by": "nothing to undo: it is a test",
        "who": "me",
    }


def test_what_was_healed_is_not_healed_again() -> None:
    entry = opened()
    entry.heal("me")
    size = entry.path.stat().st_size

    assert entry.heal("somebody else") == "nothing to undo: it is a test"
    assert entry.path.stat().st_size == size


def test_a_fault_that_went_with_its_lab_needs_no_healing() -> None:
    entry = opened()
    entry.path.unlink()

    assert not entry.is_open
    assert entry.heal("me") is None


@pytest.mark.parametrize("torn", ["", '{"event": "opened", "what'])
def test_before_its_first_line_is_whole_nothing_was_done(torn: str) -> None:
    entry = opened()
    entry.path.write_text(torn)

    assert not entry.is_open
    assert entry.heal("me") is None


def test_a_later_line_that_is_torn_changes_nothing() -> None:
    entry = opened()
    with entry.path.open("a") as file:
        file.write('{"event": "heal')

    assert entry.is_open
    entry.heal("me")
    assert not entry.is_open


class Broken(Nothing):
    def prove(self) -> str:
        raise LabError("still there")


def test_what_is_not_proved_to_be_healed_stays_open() -> None:
    entry = opened(Broken(why="no"))

    with pytest.raises(LabError, match="still there"):
        entry.heal("me")

    assert entry.is_open


def test_a_span_begins_with_its_proof() -> None:
    unproved, healed, lasting = opened(what="unproved"), opened(what="healed"), opened(what="lasting")
    unproved.heal("me")
    for entry in (healed, lasting):
        entry.write("proved", by="seen")
    healed.heal("me")
    end = healed.span.end if healed.span else None
    assert end is not None

    assert [(s.name, s.end) for s in spans("a", since=0)] == [("healed", end), ("lasting", None)]
    assert [s.name for s in spans("a", since=end + 1)] == ["lasting"]


def test_faults_lie_beside_their_lab_and_go_with_it(state: Path) -> None:
    assert folder("a") == state / "labs/a/faults"
