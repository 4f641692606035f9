"""One row per record id: how often and where it stands on both sides, and what the ledger says."""

from collections.abc import Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from lab.verify.alignment import Alignment
from lab.verify.evidence import fingerprints
from lab.verify.evidence.histories import Histories
from lab.verify.evidence.kept import Kept
from lab.verify.evidence.labels import index_of_run, label, with_label
from lab.verify.evidence.owed import with_owed

_NO: Final = f.lit(False)
_ONE_PIECE: Final = 50_000  # records: sharing out so many costs more than it saves
_PIECE: Final = 400_000  # records per shuffle partition: their groups fit in the memory of one task
_SOURCE, _TARGET, _LEDGER = 0, 1, 2
_COMPARED: Final = ("content", "headers", "timestamp")
_COMPARED_ALREADY: Final = ("content", "headers", "headers_max", "timestamp_max")
ID: Final = ("case", "run", "producer", "number")
# What is said of a record travels as bits of one number: of each further column, rows and groups get longer.
_DAMAGED, _ENCODED, _TOMBSTONE, _STAMPED_BY_BROKER, _LATE = (1 << bit for bit in range(5))
OLDER_FLAG, _SURPLUS = 1 << 5, 1 << 6


def one_row_per_id(histories: Histories, kept: Kept) -> DataFrame:
    """Per case and id: how often and where it stands on both sides, and what the ledger says.

    s_ is the source's, t_ the target's, l_ the ledger's; null where that side has no such record. Copies may
    differ: the smallest and the largest partition of each side are kept, and of what only has to be the same
    on both sides that it is: same_content, same_headers, same_timestamp.
    """
    ledger = histories.ledger.select(
        "case",
        index_of_run(f.col("run"), histories).alias("run"),
        "producer",
        f.col("sequence").alias("number"),
        f.lit(_LEDGER).alias("side"),
        "partition",
        "offset",
        f.col("outcome").cast("int").alias("outcome"),
        # nobody aborts what is in no transaction; of one whose end is unknown it stays null
        f.when(f.col("transaction").isNull(), f.lit(True)).otherwise(f.col("committed")).alias("committed"),
    )
    records = _identified(histories, _with_late(histories), _SOURCE).unionAll(
        _identified(histories, histories.target.withColumn("late", _NO), _TARGET)
    )
    if histories.unlabelled:
        records = _by_place(histories, kept.keep("rows", records), kept)
    # Before the groups, not after: each task's groups then fit in its memory, and rows travel once.
    pieces = 1 if histories.rows <= _ONE_PIECE else max(4, histories.rows // _PIECE)
    everything = records.unionByName(ledger, allowMissingColumns=True).repartition(pieces, *ID)
    on_ledger = f.col("side") == _LEDGER
    # Columns, here and elsewhere: for a column's name the client first has the server analyze the whole plan.
    found = everything.groupBy(*map(f.col, ID)).agg(
        *_of_side("s", _SOURCE, compacted=histories.compacted),
        *_of_side("t", _TARGET, compacted=histories.compacted),
        (f.lit(0) if histories.owed is None else f.count_if(_has(f.col("flags"), _LATE))).alias("s_late"),
        *(
            f.max(f.when(on_ledger, f.col(c))).alias(f"l_{c}")
            for c in ("outcome", "committed", "partition", "offset")
        ),
    )
    found = found.withColumns({f"same_{column}": _same(column) for column in _COMPARED})
    # Hashes cannot be compressed: to write and read them again would take longer than all else.
    found = found.drop(*(f"{side}_{column}" for side in "st" for column in _COMPARED_ALREADY))
    if not histories.compacted:
        found = found.drop("s_content_max", "t_content_max")
    cases = histories.partitions.groupBy(f.col("case")).agg(
        f.max("compacted").alias("compacted"),
        f.max("ledger").alias("ledger"),
    )
    return found.join(f.broadcast(cases), "case").withColumns(
        {
            "told_apart": _told_apart(),
            "weight": f.lit(1).cast("long"),
            **dict.fromkeys(("span", "s_until", "t_until"), f.lit(None).cast("long")),
            "unseen": f.lit(0),
        }
    )


def _by_place(histories: Histories, records: DataFrame, kept: Kept) -> DataFrame:
    """Those of the target that carry no id get that of the record whose place in the source they have.

    Compaction takes records from both sides by itself, so in a compacted topic no place follows from those
    before it: there a record without an id is known by its content.
    """
    compacted = histories.partitions.groupBy("case").agg(f.max("compacted").alias("in_compacted"))
    records = _with_own_place(records.join(f.broadcast(compacted), "case"))
    judged = (f.col("run") >= 0) & ~f.col("in_compacted")
    stamped = _has(f.col("flags"), _STAMPED_BY_BROKER)
    source, target = (
        records.where((f.col("side") == side) & judged).select(
            *("case", "partition", "offset", "timestamp", "content", "headers"), by_target.alias("stamped")
        )
        for side, by_target in ((_SOURCE, _NO), (_TARGET, stamped))
    )
    places = Alignment(source, target, _starts(histories), kept.keep).places()
    of_source = records.where((f.col("side") == _SOURCE) & judged).select(
        "case",
        f.col("partition").alias("s_partition"),
        f.col("offset").alias("s_offset"),
        *(f.col(name).alias(f"s_{name}") for name in ID[1:]),
    )
    found = places.join(of_source, ["case", "s_partition", "s_offset"], "left").select(
        *("case", "partition", "offset", f.lit(_TARGET).alias("side"), "older", "surplus"),
        *(f"s_{name}" for name in ID[1:]),
    )
    without_id = f.col("run") == 0
    joined = records.join(found, ["case", "side", "partition", "offset"], "left")
    for name, bit in (("older", OLDER_FLAG), ("surplus", _SURPLUS)):
        joined = joined.withColumn("flags", _with_flag(without_id & f.col(name), bit))
    chosen = {
        name: f.when(without_id, f.coalesce(f"s_{name}", name)).otherwise(f.col(name)) for name in ID[1:]
    }
    return joined.withColumns(chosen).drop(
        "in_compacted", "older", "surplus", *(f"s_{name}" for name in ID[1:])
    )


def _with_flag(statement: Column, bit: int) -> Column:
    return f.when(statement, f.col("flags").bitwiseOR(bit)).otherwise(f.col("flags"))


def _with_own_place(records: DataFrame) -> DataFrame:
    """As the id of those that carry none; what stands on the target is numbered from -1 down."""
    without_id = (f.col("run") == 0) & ~f.col("in_compacted")
    number = f.col("partition")
    producer = f.when(f.col("side") == _SOURCE, number).otherwise(-1 - number)
    return records.withColumns(
        {
            "producer": f.when(without_id, producer).otherwise(f.col("producer")),
            "number": f.when(without_id, f.col("offset")).otherwise(f.col("number")),
        }
    )


def _starts(histories: Histories) -> DataFrame:
    """Of each partition, for the alignment."""
    settled = f.lit(True) if histories.owed is None else f.col("s_owed") >= f.col("s_end")
    return with_owed(histories).select("case", "partition", "s_start", "t_start", settled.alias("settled"))


def described(ids: DataFrame, *, compacted: bool) -> DataFrame:
    """With what the bits say of each side's copies, and the columns that else only compacted topics have."""
    made_by_lab = f.col("run") != 0
    for side in "st":
        flags = f.col(f"{side}_flags")
        ids = ids.withColumns(
            {
                f"{side}_intact": f.when(made_by_lab, ~_has(flags, _DAMAGED)),
                f"{side}_encoded": _has(flags, _ENCODED),
                f"{side}_tombstone": _has(flags, _TOMBSTONE),
                f"{side}_stamped_by_broker": _has(flags, _STAMPED_BY_BROKER),
            }
        )
    ids = ids.withColumns(
        {
            "t_older": _has(f.col("t_flags"), OLDER_FLAG),
            "t_surplus": _has(f.col("t_flags"), _SURPLUS),
        }
    )
    if compacted:
        return ids
    return ids.withColumns(
        {f"{side}_{column}": f.lit(None).cast("long") for side in "st" for column in ("key", "content_max")}
    )


def _has(flags: Column, bit: int) -> Column:
    return flags.bitwiseAND(bit) != 0


def _same(column: str) -> Column:
    smallest = f.col(f"s_{column}") == f.col(f"t_{column}")
    return smallest & (f.col(f"s_{column}_max") == f.col(f"t_{column}_max"))


def _told_apart() -> Column:
    """Whether copies on the target are known to be of the records in the source that have this id.

    Of equal records in a compacted topic some may be left in the source and others gone from it.
    """
    one = (f.col("s_late") == 0) & (f.col("t_count") == f.col("s_count")) & (f.col("s_count") == 1)
    return (f.col("run") > 0) | ~f.col("compacted") | one


def _of_side(prefix: str, side: int, *, compacted: bool) -> list[Column]:
    def smallest(column: str) -> Column:
        return f.min(f.when(f.col("side") == side, f.col(column)))

    def largest(column: str) -> Column:
        return f.max(f.when(f.col("side") == side, f.col(column)))

    found = [
        f.count_if(f.col("side") == side).alias(f"{prefix}_count"),
        smallest("offset").alias(f"{prefix}_first"),
        largest("offset").alias(f"{prefix}_last"),
        f.bit_or(f.when(f.col("side") == side, f.col("flags"))).alias(f"{prefix}_flags"),
    ]
    if compacted:  # the last content of each key is looked at
        found.append(smallest("key_hash").alias(f"{prefix}_key"))
    for column in ("partition", *_COMPARED):
        found.append(smallest(column).alias(f"{prefix}_{column}"))
        found.append(largest(column).alias(f"{prefix}_{column}_max"))
    return found


def _identified(histories: Histories, records: DataFrame, side: int) -> DataFrame:
    """Each record with its id, hashes of what must not change, and whether its payload is intact."""
    content, headers = fingerprints.content(), fingerprints.headers()
    found = with_label(records, histories)
    made_by_lab = f.col("lab_id").isNotNull()
    run, producer, number = label(histories)
    flags = {
        _DAMAGED: made_by_lab & ~f.col("intact"),
        _ENCODED: f.col("encoded"),
        _TOMBSTONE: f.col("value").isNull(),
        _STAMPED_BY_BROKER: f.col("timestamp_type") == 1,
        _LATE: f.col("late"),
    }
    return found.select(
        "case",
        f.when(made_by_lab, run).otherwise(0).alias("run"),
        f.when(made_by_lab, producer).otherwise(0).alias("producer"),
        f.when(made_by_lab, number).otherwise(content).alias("number"),
        f.lit(side).alias("side"),
        "partition",
        "offset",
        "timestamp",
        content.alias("content"),
        headers.alias("headers"),
        reduce(Column.bitwiseOR, (f.when(is_so, bit).otherwise(0) for bit, is_so in flags.items())).alias(
            "flags"
        ),
        *([f.xxhash64("key").alias("key_hash")] if histories.compacted else []),
    )


def elsewhere() -> Column:
    """Another source's record. One that stands in this source too, as in a circle, is this source's."""
    return (f.col("run") < 0) & (f.col("s_count") == 0)


def _with_late(histories: Histories) -> DataFrame:
    """The source's records; `late` are those that came after what is owed."""
    if histories.owed is None:
        return histories.source.withColumn("late", _NO)
    joined = histories.source.join(f.broadcast(histories.owed), ["case", "partition"], "left")
    return joined.withColumn("late", f.coalesce(f.col("offset") >= f.col("s_owed"), _NO)).drop("s_owed")


def named(runs: Sequence[str]) -> Column:
    """For people: a lab's record by its id, any other by its place, in a compacted topic by its content."""
    run = f.get(f.array(f.lit(""), *map(f.lit, runs)), f.col("run"))
    lab = f.concat_ws("-", run, "producer", "number")
    source = f.concat(f.lit("source "), "producer", f.lit(":"), "number")
    target = f.concat(f.lit("target "), -1 - f.col("producer"), f.lit(":"), "number")
    place = f.when(f.col("producer") < 0, target).otherwise(source)
    by_content = f.concat(f.lit("content "), f.hex("number"))
    return f.when(f.col("run") > 0, lab).otherwise(f.when(f.col("compacted"), by_content).otherwise(place))
