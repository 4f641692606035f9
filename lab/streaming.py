"""A downstream application: a Structured Streaming query that keeps a mirrored topic as Parquet.

Where it stands is in its checkpoint at the Spark server, so it may be stopped anywhere and started again.
Its output is judged as MM2's is: the application's records take the place of the target's, so that every
record of the source must be in the output once, in order and unharmed.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from lab.spark import SERVER_FOLDER, SparkError, SparkSession
from lab.verify.catching_up import wait_for_target
from lab.verify.checks import STANDARD, Check, run_checks
from lab.verify.ends import name_ends, source_ends
from lab.verify.evidence import evidence
from lab.verify.flow import Flow
from lab.verify.verdict import Verdict
from lab.verify.verification import as_records, histories_of
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until

PER_BATCH: Final = 10_000


class Application:
    """One application by its name; files of another one with this name at the server would be its own.

    It leaves its output and checkpoint at the server, which forgets them with its container.
    """

    def __init__(
        self,
        spark: SparkSession,
        name: str,
        *,
        topic: str,
        bootstrap: str,
        options: Mapping[str, str] | None = None,
        per_batch: int = PER_BATCH,
        folder: str = SERVER_FOLDER,
    ) -> None:
        self.name, self.topic = name, topic
        self.path = f"{folder}/streaming/{name}/output"
        self._checkpoint = f"{folder}/streaming/{name}/checkpoint"
        self._spark, self._bootstrap, self._per_batch = spark, bootstrap, per_batch
        self._options = dict(options or {})
        self._query: Any = None

    def start(self, *, every_s: float | None = None) -> None:
        """Go on where the checkpoint says: in batches until stopped, or without `every_s` to today's end."""
        trigger: dict[str, Any] = (
            {"availableNow": True}
            if every_s is None
            else {"processingTime": f"{int(every_s * 1000)} milliseconds"}
        )
        records = (
            self._spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self._bootstrap)
            .option("kafka.isolation.level", "read_committed")
            .option("subscribe", self.topic)
            .option("startingOffsets", "earliest")
            .option("includeHeaders", "true")
            .option("maxOffsetsPerTrigger", str(self._per_batch))
            .options(**self._options)
            .load()
            .drop("topic")
        )
        try:
            self._query = (
                records.writeStream.format("parquet")
                .option("path", self.path)
                .option("checkpointLocation", self._checkpoint)
                .outputMode("append")
                .trigger(**trigger)
                .start()
            )
        except PySparkException as error:
            raise self._failed(error) from error

    def stop(self) -> None:
        """In the middle of whatever it does; a batch that was not committed is done again."""
        self._query.stop()

    def position(self) -> dict[int, int]:
        """The offset that each partition was read up to by the last batch since the start."""
        progress = self._query.lastProgress
        if error := self._query.exception():
            raise self._failed(error)
        reached = progress and progress["sources"][0]["endOffset"]
        if not reached:
            return {}
        found: dict[str, dict[str, int]] = json.loads(reached) if isinstance(reached, str) else reached
        return {int(partition): offset for partition, offset in found[self.topic].items()}

    def wait_until_read(self, offsets: int, *, timeout_s: float = RECORDS_ARRIVE_S) -> int:
        """Wait for a batch that ends at so many offsets of all partitions together, or later."""

        def observe() -> int | NotYet:
            reached = sum(self.position().values())
            return reached if reached >= offsets else NotYet(f"{reached} offsets")

        what = f'application "{self.name}" has read {offsets} offsets of topic "{self.topic}"'
        return wait_until(observe, timeout_s=timeout_s, what=what)

    def wait_until_ended(self, *, timeout_s: float = RECORDS_ARRIVE_S) -> None:
        """Wait for one that was started to read to the end."""

        def observe() -> bool | NotYet:
            if error := self._query.exception():
                raise self._failed(error)
            return not self._query.isActive or NotYet(str(self._query.status.get("message")))

        wait_until(observe, timeout_s=timeout_s, what=f'application "{self.name}" ended')

    def records(self) -> DataFrame:
        """The output, with the columns that lab.verify.evidence wants."""
        return as_records(self._spark.read.parquet(self.path))

    def _failed(self, error: Exception) -> SparkError:
        return SparkError(
            f'application "{self.name}" failed: {str(error).splitlines()[0]}', 'see "lab logs spark"'
        )


def verify_output(
    spark: SparkSession,
    flow: Flow,
    output: DataFrame,
    *,
    checks: Sequence[Check] = STANDARD,
    timeout_s: float = RECORDS_ARRIVE_S,
) -> list[Verdict]:
    """Every check's verdict on an application's records, once it has read the flow's remote topic to its end.

    What MM2 did wrong counts as well: of the source's records it is asked what the application has.
    """
    owed, frozen_at = source_ends(flow), datetime.now(UTC)
    wait_for_target(flow, owed, timeout_s=timeout_s, say=lambda _: None)
    histories = histories_of(spark, flow, name_ends(flow, owed, frozen_at)).with_target(output)
    with evidence(histories, f"{flow.folder}/evidence") as tables:
        return run_checks(tables, checks)[0]
