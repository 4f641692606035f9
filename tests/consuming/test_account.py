"""An account tells every record that was processed, in order, and which of them were committed."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lab.consuming import Heading, recover, summary
from lab.consuming.account import JOURNAL, Account
from lab.journal import LedgerError
from tests.consuming.messages import message

COLUMNS = "number topic partition offset run producer sequence committed".split()
HEADING = Heading(cluster="source", group="billing")


def rows(path: Path) -> list[tuple[object, ...]]:
    return [tuple(row[name] for name in COLUMNS) for row in pq.read_table(path).to_pylist()]


def written(folder: Path) -> Account:
    """Two partitions, one committed."""
    account = Account(folder, HEADING)
    account.assigned([("orders", 0), ("orders", 1)])
    account.processed([message(0, 70, 0), message(1, 5, 1), message(0, 71, 2)])
    account.committed({("orders", 0): 72})
    account.processed([message(0, 72)])
    return account


def test_every_processed_record_has_a_row_in_the_order_of_processing(tmp_path: Path) -> None:
    account = written(tmp_path)
    account.closed()
    account.close()

    path = recover(tmp_path)

    assert [p.name for p in tmp_path.iterdir()] == ["processed.parquet"]
    assert rows(path) == [
        (0, "orders", 0, 70, "cafe", 0, 0, True),
        (1, "orders", 1, 5, "cafe", 0, 1, False),
        (2, "orders", 0, 71, "cafe", 0, 2, True),
        (3, "orders", 0, 72, None, None, None, False),
    ]
    times = pq.read_table(path)["at_ms"].to_pylist()
    assert times == sorted(times)
    assert times[0] > 0


def test_the_summary_says_where_it_stood(tmp_path: Path) -> None:
    account = written(tmp_path)
    account.closed()
    account.close()

    said = summary(recover(tmp_path))

    assert said.heading == HEADING
    assert said.clean
    assert said.standing.processed == 4
    assert said.standing.positions == {("orders", 0): 73, ("orders", 1): 6}
    assert said.standing.committed == {("orders", 0): 72}
    assert said.standing.pending == {("orders", 0): 1, ("orders", 1): 1}
    assert said.standing.uncommitted == 2
    assert said.standing.assigned == [("orders", 0), ("orders", 1)]
    assert said.standing.first_ms is not None
    assert said.standing.last_ms is not None
    assert said.standing.last_ms >= said.standing.first_ms


def test_one_that_was_killed_is_not_clean(tmp_path: Path) -> None:
    written(tmp_path).close()

    said = summary(recover(tmp_path))

    assert not said.clean
    assert (said.standing.processed, said.standing.uncommitted) == (4, 2)


def test_a_torn_tail_is_cut_off_wherever_it_is_torn(tmp_path: Path) -> None:
    """Whatever length the journal has after a crash gives the records of its whole frames."""
    written(tmp_path / "whole").close()
    whole = (tmp_path / "whole" / JOURNAL).read_bytes()
    seen = []
    for length in range(0, len(whole), 61):
        folder = tmp_path / str(length)
        folder.mkdir()
        (folder / JOURNAL).write_bytes(whole[:length])
        try:
            seen.append(len(rows(recover(folder))))
        except LedgerError:
            seen.append(-1)

    assert seen == sorted(seen)
    assert set(seen) == {-1, 0, 3}


def test_a_damaged_frame_and_what_follows_do_not_count(tmp_path: Path) -> None:
    written(tmp_path).close()
    path = tmp_path / JOURNAL
    raw = bytearray(path.read_bytes())
    raw[-10] ^= 1
    path.write_bytes(raw)

    assert len(rows(recover(tmp_path))) == 3


def test_what_is_still_being_written_is_not_taken_away(tmp_path: Path) -> None:
    account = written(tmp_path)

    with pytest.raises(LedgerError, match="is still being written"):
        recover(tmp_path)

    account.close()
    assert len(rows(recover(tmp_path))) == 4
    assert recover(tmp_path) == tmp_path / "processed.parquet", "a second time changes nothing"


def test_a_crash_between_the_last_two_steps_leaves_the_finished_file(tmp_path: Path) -> None:
    written(tmp_path).close()
    journal = (tmp_path / JOURNAL).read_bytes()
    finished = recover(tmp_path).read_bytes()
    (tmp_path / JOURNAL).write_bytes(journal)

    assert recover(tmp_path).read_bytes() == finished
    assert not (tmp_path / JOURNAL).exists()


def test_another_file_is_no_account(tmp_path: Path) -> None:
    path = tmp_path / "processed.parquet"
    path.write_text("tea")

    with pytest.raises(LedgerError, match="is no account of an application"):
        summary(path)
