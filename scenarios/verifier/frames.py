"""Histories as the frames that evidence is made of, all cases in one."""

from collections.abc import Sequence
from dataclasses import asdict

import pyarrow as pa

from lab.spark import SparkSession
from lab.verify.evidence import (
    FEW,
    LEDGER_COLUMNS,
    LITTLE,
    OWED_COLUMNS,
    PARTITION_COLUMNS,
    RECORD_COLUMNS,
    Histories,
)
from scenarios.verifier.histories import ELSEWHERE, OTHER_RUN, RUN, History, Record

MANY = 1_000  # histories
BLOCK = 4  # offsets compared at once: so few that histories have many of them
_HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
_RECORD = pa.schema(
    [
        *(("case", pa.int32()), ("partition", pa.int32()), ("offset", pa.int64()), ("timestamp", pa.int64())),
        *(("timestamp_type", pa.int32()), ("key", pa.binary()), ("value", pa.binary())),
        ("headers", pa.list_(_HEADER)),
    ]
)
_LEDGER = pa.schema(
    [
        *(("case", pa.int32()), ("run", pa.string()), ("producer", pa.int32()), ("sequence", pa.int64())),
        *(("outcome", pa.int32()), ("transaction", pa.int32()), ("committed", pa.bool_())),
        *(("partition", pa.int32()), ("offset", pa.int64())),
    ]
)
_PARTITION = pa.schema(
    [
        *(("case", pa.int32()), ("partition", pa.int32())),
        *(("s_start", pa.int64()), ("s_end", pa.int64()), ("s_holes", pa.int64())),
        *(("t_start", pa.int64()), ("t_end", pa.int64()), ("t_holes", pa.int64())),
        *(("ledger", pa.bool_()), ("compacted", pa.bool_())),
    ]
)
_OWED = pa.schema([("case", pa.int32()), ("partition", pa.int32()), ("s_owed", pa.int64())])


def frames(spark: SparkSession, histories: Sequence[History], pieces: int | None = None) -> Histories:
    """`pieces` spreads the rows over so many tasks, in no order that means anything."""
    tables = [
        pa.Table.from_pylist([_row(h, r) for h in histories for r in h.source], _RECORD),
        pa.Table.from_pylist([_row(h, r) for h in histories for r in h.target], _RECORD),
        pa.Table.from_pylist([{"case": h.case} | asdict(s) for h in histories for s in h.ledger], _LEDGER),
        pa.Table.from_pylist([row for h in histories for row in _partitions(h)], _PARTITION),
        pa.Table.from_pylist([row for h in histories for row in _partitions(h)], _OWED),
    ]
    columns = (RECORD_COLUMNS, RECORD_COLUMNS, LEDGER_COLUMNS, PARTITION_COLUMNS, OWED_COLUMNS)
    made = [  # of a table without rows Spark does not ask for the schema
        spark.createDataFrame(table) if table.num_rows else spark.createDataFrame([], schema)
        for table, schema in zip(tables, columns, strict=True)
    ]
    if pieces:
        made = [frame.repartition(pieces) for frame in made]
    return Histories(
        source=made[0],
        target=made[1],
        ledger=made[2],
        partitions=made[3],
        owed=made[4],
        runs=(OTHER_RUN, RUN),
        other_runs=(ELSEWHERE,),
        compacted=any(h.compacted for h in histories),
        many_cases=True,
        block=BLOCK,
        rows=_as_of(histories, pieces),
    )


def _as_of(histories: Sequence[History], pieces: int | None) -> int:
    """As of many records, of little, or of few: each way in which they are judged is compared."""
    if len(histories) >= MANY:
        return LITTLE + 1
    return FEW if pieces else FEW + 1


def _row(history: History, record: Record) -> dict[str, object]:
    headers = record.headers and [{"key": key, "value": value} for key, value in record.headers]
    return vars(record) | {"case": history.case, "headers": headers}


def _partitions(history: History) -> list[dict[str, object]]:
    return [
        {"case": history.case, "partition": partition, **vars(bounds)}
        | {"ledger": history.has_ledger, "compacted": history.compacted}
        for partition, bounds in history.bounds.items()
    ]
