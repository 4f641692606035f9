"""A ledger names every record that may have been sent, whatever happened to its producer."""

import json
from contextlib import closing
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest

from lab import journal
from lab.ledger import Heading, Ledger, LedgerError, Summary, ledgers, summary
from lab.project import runs_folder

ROWS = "sequence outcome transaction committed partition offset".split()


def heading(**more: object) -> Heading:
    said = {"run": "cafe", "topic": "orders", "cluster": "source", "seed": 7, "size_bytes": 100}
    return Heading(**{**said, **more})  # type: ignore[arg-type]


def acked(ledger: Ledger, partition: int, *records: tuple[int, int]) -> None:
    add_sequence, add_offset = ledger.acks(partition)
    for sequence, offset in records:
        add_sequence(sequence)
        add_offset(offset)


def killed(ledger: Ledger) -> None:
    """What SIGKILL leaves: the journal as it is, and no lock."""
    ledger._journal.close()


def rows(path: Path) -> list[tuple[object, ...]]:
    return [tuple(row[name] for name in ROWS) for row in pq.read_table(path).to_pylist()]


def counts(said: Summary) -> tuple[int, int, int, int]:
    return said.sent, said.acked, said.failed, said.unknown


def test_every_record_that_was_sent_has_a_row(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, heading())
    ledger.reserve(1_000)
    acked(ledger, 1, (1, 70), (3, 71))
    ledger.flush()
    acked(ledger, 0, (0, 5))
    ledger.fail(4)

    path = ledger.close(6)

    assert path == tmp_path / "ledger.parquet"
    assert [p.name for p in tmp_path.iterdir()] == ["ledger.parquet"]
    assert rows(path) == [
        (0, 1, None, None, 0, 5),
        (1, 1, None, None, 1, 70),
        (2, 3, None, None, None, None),
        (3, 1, None, None, 1, 71),
        (4, 2, None, None, None, None),
        (5, 3, None, None, None, None),
    ]


def test_the_file_has_the_types_and_the_metadata_that_others_read(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, heading(plan={"keys": 3}, producer=2))
    ledger.reserve(1)
    schema = pq.read_schema(ledger.close(1))

    assert {field.name: str(field.type) for field in schema} == {
        "producer": "int32",
        "sequence": "int64",
        "outcome": "int8",
        "transaction": "int32",
        "committed": "bool",
        "partition": "int32",
        "offset": "int64",
    }
    said = {key.decode(): value.decode() for key, value in pq.read_metadata(ledger.path).metadata.items()}
    assert said.items() >= {
        *{"run": "cafe", "topic": "orders", "cluster": "source", "torn": "false"}.items(),
        *{"seed": "7", "size_bytes": "100", "plan": '{"keys": 3}'}.items(),
    }
    assert pq.read_table(ledger.path)["producer"].to_pylist() == [2]


def test_the_summary_needs_the_metadata_only(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, heading())
    ledger.reserve(10)
    acked(ledger, 0, (0, 0), (2, 1))
    ledger.fail(1)
    assert (ledger.acked, ledger.failed) == (2, 1)

    said = summary(ledger.close(5))

    assert counts(said) == (5, 2, 1, 2)
    assert (said.torn, said.heading) == (False, ledger.heading)


def test_a_ledger_of_nothing_has_no_rows(tmp_path: Path) -> None:
    said = summary(Ledger(tmp_path, heading()).close(0))

    assert counts(said) == (0, 0, 0, 0)
    assert rows(said.path) == []


def test_an_ack_without_an_offset_is_an_ack(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, heading())
    ledger.reserve(1)
    acked(ledger, 3, (0, -1001))

    assert rows(ledger.close(1)) == [(0, 1, None, None, 3, None)]


def test_after_a_kill_all_that_was_reserved_is_there_and_what_was_not_flushed_is_unknown(
    tmp_path: Path,
) -> None:
    ledger = Ledger(tmp_path, heading())
    ledger.reserve(4)
    acked(ledger, 0, (0, 0), (1, 1))
    ledger.flush()
    acked(ledger, 0, (2, 2))  # the kernel never got it
    killed(ledger)

    said = summary(Ledger.recover(tmp_path))

    assert counts(said) == (4, 2, 0, 2)
    assert said.torn
    assert [row[1] for row in rows(said.path)] == [1, 1, 3, 3]
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.parquet"]


def test_an_intent_is_on_disk_when_reserve_returns(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, heading())
    before = (tmp_path / journal.NAME).stat().st_size
    ledger.reserve(50_000)

    assert (tmp_path / journal.NAME).stat().st_size > before
    assert (ledger.reserved, ledger.acked) == (50_000, 0)
    ledger.close(0)


def test_a_tail_torn_at_any_byte_costs_its_frame_and_no_other(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "whole", heading())
    ledger.reserve(6)
    acked(ledger, 0, (0, 0), (1, 1))
    ledger.flush()
    whole = (tmp_path / "whole" / journal.NAME).stat().st_size
    acked(ledger, 0, (2, 2), (3, 3))
    ledger.flush()
    everything = (tmp_path / "whole" / journal.NAME).read_bytes()
    killed(ledger)

    assert len(everything) - whole > 100
    for length in range(whole, len(everything)):
        folder = tmp_path / str(length)
        folder.mkdir()
        (folder / journal.NAME).write_bytes(everything[:length])
        said = summary(Ledger.recover(folder))
        assert (counts(said), said.torn) == ((6, 2, 0, 4), True), length


def test_a_closing_frame_that_is_torn_leaves_what_was_reserved(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "whole", heading())
    ledger.reserve(6)
    ledger._journal.closed(2)
    everything = (tmp_path / "whole" / journal.NAME).read_bytes()
    killed(ledger)

    for cut in range(len(everything), len(everything) - 18, -1):
        folder = tmp_path / str(cut)
        folder.mkdir()
        (folder / journal.NAME).write_bytes(everything[:cut])
        said = summary(Ledger.recover(folder))
        assert (said.sent, said.torn) == ((2, False) if cut == len(everything) else (6, True)), cut


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_byte_is_never_believed(tmp_path: Path, seed: int) -> None:
    ledger = Ledger(tmp_path, heading())
    ledger.reserve(3)
    start = (tmp_path / journal.NAME).stat().st_size
    acked(ledger, 0, (0, 9), (1, 10), (2, 11))
    ledger.flush()
    killed(ledger)
    content = bytearray((tmp_path / journal.NAME).read_bytes())
    content[Random(seed).randrange(start, len(content))] ^= 0x10  # noqa: S311
    (tmp_path / journal.NAME).write_bytes(content)

    assert counts(summary(Ledger.recover(tmp_path))) == (3, 0, 0, 3)


def test_a_killed_close_is_finished(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, heading())
    path = ledger.close(0)
    (tmp_path / journal.NAME).write_bytes(b"H")

    assert Ledger.recover(tmp_path) == path
    assert not (tmp_path / journal.NAME).exists()


def test_a_journal_without_a_heading_is_no_ledger(tmp_path: Path) -> None:
    (tmp_path / journal.NAME).write_bytes(b"")

    with pytest.raises(LedgerError) as caught:
        Ledger.recover(tmp_path)

    assert caught.value.message == f'"{tmp_path / journal.NAME}" has no heading'
    assert caught.value.hint == "its producer ended before it sent a record"


def test_what_is_no_ledger_is_told(tmp_path: Path) -> None:
    path = tmp_path / "ledger.parquet"
    path.write_text("PAR1")

    with pytest.raises(LedgerError, match="is not a ledger") as caught:
        summary(path)

    assert caught.value.hint == 'ledgers are written by "lab produce"'


def test_a_producer_at_work_is_left_alone(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, heading())

    with pytest.raises(LedgerError) as caught:
        Ledger.recover(tmp_path)

    assert caught.value.message == f'"{tmp_path / journal.NAME}" is still being written'
    assert caught.value.hint == "wait until its producer ends"
    ledger.close(0)


def test_transactions_are_committed_aborted_or_unclear(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, heading())
    ledger.reserve(9)
    for index, committed in enumerate([True, False, None]):
        ledger.begin(index, index * 2, index * 2 + 2)
        ledger.end(index, index * 2 + 2, committed)
    ledger.begin(3, 6, 8)  # and killed in the middle of it
    killed(ledger)

    assert [row[2:4] for row in rows(Ledger.recover(tmp_path))] == [
        *[(0, True), (0, True), (1, False), (1, False), (2, None), (2, None), (3, None), (3, None)],
        (None, None),
    ]


def test_ledgers_of_a_topic_are_found_oldest_first_and_made_of_what_crashed() -> None:
    runs = runs_folder()
    told = {"b": (2, "orders", "X"), "a": (3, "orders", "Y"), "c": (1, "orders", "X"), "d": (0, "other", "X")}
    for name, (started_ms, topic, topic_id) in told.items():
        ledger = Ledger(runs / name, heading(topic=topic, started_ms=started_ms, topic_id=topic_id))
        ledger.reserve(2)
        if name == "c":
            killed(ledger)
        else:
            ledger.close(1)
    at_work = Ledger(runs / "e", heading())

    assert [path.parent.name for path in ledgers("source", "orders")] == ["c", "b", "a"]
    assert [path.parent.name for path in ledgers("source", "orders", topic_id="X")] == ["c", "b"]
    assert ledgers("target", "orders") == []
    assert summary(runs / "c" / "ledger.parquet").torn
    at_work.close(0)


def test_a_ledger_that_cannot_be_read_costs_no_other(tmp_path: Path) -> None:
    Ledger(runs_folder() / "good", heading()).close(0)
    (runs_folder() / "torn").mkdir()
    (runs_folder() / "torn" / "ledger.parquet").write_bytes(b"PAR1")
    good = runs_folder() / "good" / "ledger.parquet"
    later = {**pq.read_metadata(good).metadata, b"heading": b'{"of_a_later_version": 1}'}
    (runs_folder() / "later").mkdir()
    table = pq.read_table(good).replace_schema_metadata(later)
    pq.write_table(table, runs_folder() / "later" / "ledger.parquet")
    (runs_folder() / "crashed").mkdir()
    with closing(journal.Journal(runs_folder() / "crashed" / journal.NAME, create=True)) as crashed:
        crashed.heading({"of_a_later_version": 1})
    told: list[str] = []

    assert [path.parent.name for path in ledgers("source", "orders", tell=told.append)] == ["good"]
    assert sorted(line.partition(" is ")[0] for line in told) == [
        f'left out: "{runs_folder() / name}"'
        for name in (f"crashed/{journal.NAME}", "later/ledger.parquet", "torn/ledger.parquet")
    ]


def test_ten_million_records_take_less_than_100_megabytes(tmp_path: Path) -> None:
    """A million with keys, the worst case: partitions drawn at random, deliveries in bursts of each."""
    random = Random(1)  # noqa: S311
    ledger = Ledger(tmp_path, heading())
    ends = [0] * 12
    for first in range(0, 1_000_000, 50_000):
        ledger.reserve(50_000)
        for sequence in range(first, first + 50_000):
            partition = random.randrange(12)
            acked(ledger, partition, (sequence, ends[partition]))
            ends[partition] += 1
        ledger.flush_when_due()
    journal_bytes = (tmp_path / journal.NAME).stat().st_size
    path = ledger.close(1_000_000)

    assert summary(path).acked == 1_000_000
    assert journal_bytes * 10 < 20_000_000
    assert path.stat().st_size * 10 < 40_000_000
    assert json.loads(pq.read_metadata(path).metadata[b"heading"])["topic"] == "orders"
