"""Before which offsets of the source the target must have all."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from lab.verify.evidence.histories import Histories


def with_owed(histories: Histories) -> DataFrame:
    """The partitions with s_owed."""
    partitions = histories.partitions
    if histories.owed is None:
        return partitions.withColumn("s_owed", f.col("s_end"))
    joined = partitions.join(histories.owed, ["case", "partition"], "left")
    return joined.withColumn("s_owed", f.coalesce("s_owed", "s_end"))
