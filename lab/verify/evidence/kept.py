"""Where evidence is kept while it is judged: in the Spark server's memory if it is little, else in files."""

import uuid
from typing import Final

from pyspark.sql import DataFrame

from lab.spark import in_memory

# records of both sides; more of them gain from files and many tasks, and need the memory
LITTLE: Final = 200_000
# Most columns are numbers of which each is there once: a dictionary of them is built and then given up.
_PARQUET: Final = {
    "parquet.enable.dictionary": "false",
    "parquet.writer.version": "PARQUET_2_0",
    "compression": "lz4_raw",
}


class Kept:
    """Frames that are made once and read several times."""

    def __init__(self, folder: str, *, little: bool) -> None:
        self._path, self.little = f"{folder}/{uuid.uuid4().hex}", little
        self._written: dict[str, DataFrame] = {}

    def keep(self, name: str, frame: DataFrame) -> DataFrame:
        """The same rows, made now. A small verification takes as long as its jobs, so it writes no files."""
        if self.little:
            return in_memory(frame)
        # With a schema: without one, each job that reads the files begins with a job that asks for it.
        schema = frame.schema
        self._written[name] = frame
        frame.write.options(**_PARQUET).parquet(f"{self._path}/{name}")
        return frame.sparkSession.read.schema(schema).parquet(f"{self._path}/{name}")

    def close(self) -> None:
        """No file is left of the data: an empty frame takes its place, which is all that a client can do.

        What is in memory the server drops when no frame of the client refers to it.
        """
        for name, frame in self._written.items():
            frame.sparkSession.range(0).write.mode("overwrite").parquet(f"{self._path}/{name}")
