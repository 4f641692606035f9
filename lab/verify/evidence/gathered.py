"""Digests of all blocks, then the records of those that differ: together a row per record or block."""

from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from lab.spark import SparkSession, in_memory
from lab.verify.evidence.closer import Closer, look_closer
from lab.verify.evidence.digests import BLOCK, digests, in_blocks, known_to_ledger, ledger_in_blocks
from lab.verify.evidence.histories import LEDGER_COLUMNS, RECORD_COLUMNS, Histories
from lab.verify.evidence.ids import OLDER_FLAG, one_row_per_id
from lab.verify.evidence.kept import Kept
from lab.verify.evidence.weighted import weighted

_NO, _YES = f.lit(False), f.lit(True)
_KEYS = "case int, partition int, zone int, late boolean, block long"


@dataclass(frozen=True, kw_only=True)
class Gathered:
    ids: DataFrame
    rows: int  # about how many


def gather(histories: Histories, kept: Kept) -> Gathered:
    """What `one_row_per_id` says of the records that are looked at, and `weighted` of all other blocks."""
    if histories.compacted and not histories.many_cases:
        return Gathered(ids=kept.keep("ids", one_row_per_id(histories, kept)), rows=histories.rows)
    blocks = in_memory(digests(histories))
    rows = blocks.toArrow().to_pylist()
    closer = look_closer(rows, together=bool(histories.other_runs))
    ids = _looked_at(histories, closer, kept)
    if closer.blocks and ids is not None and (astray := _astray(ids, closer)):
        more = dict.fromkeys(astray, "records stand where others were")
        closer = replace(closer, whole={**closer.whole, **more}, unlabelled=True)
        ids = _looked_at(histories, closer, kept)
    rest = weighted(_others(blocks, closer))
    count = histories.rows if closer.whole else closer.records + len(rows)
    return Gathered(ids=rest if ids is None else ids.unionByName(rest, allowMissingColumns=True), rows=count)


def _looked_at(histories: Histories, closer: Closer, kept: Kept) -> DataFrame | None:
    if closer.nothing:
        return None
    chosen = replace(_narrowed(histories, closer), unlabelled=closer.unlabelled)
    return kept.keep("ids", one_row_per_id(chosen, kept))


def _astray(ids: DataFrame, closer: Closer) -> list[int]:
    """Cases with a record on the target that is of none of the blocks looked at: it may be of any other."""
    older = f.coalesce(f.col("t_flags").bitwiseAND(OLDER_FLAG) != 0, f.lit(False))
    foreign = (f.col("s_count") == 0) & (f.col("t_count") > 0) & f.col("l_outcome").isNull() & ~older
    found = ids.where(foreign).select(f.col("case")).distinct().collect()
    return [row["case"] for row in found if row["case"] not in closer.whole]


def _narrowed(histories: Histories, closer: Closer) -> Histories:
    """The histories with the records of what is looked at, and what the ledger says of them."""
    if closer.whole and not histories.many_cases:
        return histories
    blocks, whole = _frames(histories.partitions.sparkSession, closer)

    def chosen(located: DataFrame, also: Column = _NO) -> DataFrame:
        marked = located.join(whole.withColumn("all", _YES), ["case"], "left")
        marked = marked.join(blocks.withColumn("one", _YES), list(BLOCK), "left")
        return marked.where(f.coalesce("all", "one", _NO) | also)

    source, target = (
        histories.read_again[side](closer.ranges[side]) if side in histories.read_again else everything
        for side, everything in (("s", histories.source), ("t", histories.target))
    )
    ledger = chosen(ledger_in_blocks(histories), also=~known_to_ledger())
    return replace(
        histories,
        source=chosen(in_blocks(source, histories, target=False)).select(*_names(RECORD_COLUMNS)),
        target=chosen(in_blocks(target, histories, target=True)).select(*_names(RECORD_COLUMNS)),
        ledger=ledger.select(*_names(LEDGER_COLUMNS)),
    )


def _others(blocks: DataFrame, closer: Closer) -> DataFrame:
    """The blocks that were not looked at, and hold anything."""
    looked_at, whole = _frames(blocks.sparkSession, closer)
    held = blocks.where((f.col("s_n") > 0) | (f.col("t_n") > 0))
    return held.join(whole, ["case"], "left_anti").join(looked_at, list(BLOCK), "left_anti")


def _frames(spark: SparkSession, closer: Closer) -> tuple[DataFrame, DataFrame]:
    """The blocks and the whole cases, for joins."""
    blocks = spark.createDataFrame([tuple(key) for key in closer.blocks], _KEYS)
    return f.broadcast(blocks), f.broadcast(
        spark.createDataFrame([(case,) for case in closer.whole], "case int")
    )


def _names(columns: str) -> list[str]:
    outside = columns.replace("struct<key: string, value: binary>", "struct")
    return [column.split()[0] for column in outside.split(", ")]
