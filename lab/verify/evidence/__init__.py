"""Evidence: what one scan of both topics and the ledger leaves, one row per record id.

Checks never see records, only this table: per id how often, where and with what content the record
stands in the source and in the target topic, and what the ledger says of it. All frames carry a
column `case`, so that many small histories are judged in one job; a real verification has case 0.

A record's id is found where it survived: in the payload when the rest of the payload confirms it, else
in the header `lab-id` (also when a converter has base64-encoded it), else in a payload that is damaged.
Only ids of `runs` count, those whose ledgers are known. Any other record is known by its place in the source,
which lab.verify.alignment finds for those of the target; in a compacted topic by its key and value.

Several sources may be mirrored into one topic. A record there of one of `other_runs` is another source's:
it is read and counted, and then left out, since what became of it is judged beside its own source.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from lab.spark import SparkSession, interpreting, undoing
from lab.verify.evidence.facts import facts, inverted, last_of_keys, records
from lab.verify.evidence.gathered import gather
from lab.verify.evidence.histories import (
    LEDGER_COLUMNS,
    OWED_COLUMNS,
    PARTITION_COLUMNS,
    RECORD_COLUMNS,
    Histories,
)
from lab.verify.evidence.ids import described, elsewhere, named
from lab.verify.evidence.kept import LITTLE, Kept
from lab.verify.evidence.owed import with_owed
from lab.verify.evidence.weighted import KNOWN, NOT_LOOKED_AT

__all__ = [
    "FEW",
    "KNOWN",
    "LEDGER_COLUMNS",
    "LITTLE",
    "NOT_LOOKED_AT",
    "OWED_COLUMNS",
    "PARTITION_COLUMNS",
    "RECORD_COLUMNS",
    "Histories",
    "evidence",
]

FEW: Final = 5_000  # records of both sides: for no more than these it does not pay to compile expressions
FOLDER: Final = "/var/lib/spark/evidence"  # at the Spark server


@contextmanager
def evidence(histories: Histories, folder: str = FOLDER) -> Iterator[Mapping[str, DataFrame]]:
    """The evidence tables "records", "partitions" and "keys", kept at the server while the block runs."""
    spark = histories.partitions.sparkSession
    kept = Kept(folder, little=histories.rows <= LITTLE)
    with undoing(spark, kept.close):
        with _for(spark, histories.rows):
            gathered = gather(histories, kept)
        with _for(spark, gathered.rows):
            kept.little = little = gathered.rows <= LITTLE
            ids = described(gathered.ids, compacted=histories.compacted)
            partitions = kept.keep("partitions", facts(ids, with_owed(histories)))
            ids = ids.where(~elsewhere())
            turned = inverted(ids, partitions)
            # Of many records only what takes a sort is kept: joining them again is cheaper than writing them.
            turned = turned if little else kept.keep("inverted", turned)
            with_names = ids.withColumn("id", named(histories.runs))
            last = last_of_keys(with_names, partitions).where(f.lit(histories.compacted))
            all_records = records(with_names, partitions, turned, last)
            all_records = kept.keep("records", all_records) if little else all_records
            yield {"records": all_records, "partitions": partitions, "keys": last}


def _for(spark: SparkSession, rows: int) -> AbstractContextManager[None]:
    return interpreting(spark) if rows <= FEW else nullcontext()
