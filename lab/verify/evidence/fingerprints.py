"""Hashes of what must not change on the way: equal only for what a consumer could not tell apart.

Spark's hash passes over nulls, so each field is hashed with what says that it is null and with its length;
else headers [(a, null), (b, x)] and [(a, x), (b, null)] would have one hash.
"""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as f

# Stands for a header without a value. Nobody writes it by accident; who forges records is not found out.
_NO_VALUE: Final = "\x01mirror-lab: no value\x02"
_BETWEEN: Final = "\x00"


def content_fields() -> list[Column]:
    """Of key and value, for a hash."""
    return [
        *(f.coalesce(f.length("key"), f.lit(-1)), f.col("key")),
        *(f.coalesce(f.length("value"), f.lit(-1)), f.col("value")),
    ]


def header_fields() -> list[Column]:
    """Of the headers in their order, for a hash. Without a lambda: Spark compiles none."""
    values = f.col("headers.value")
    return [
        f.coalesce(f.size("headers"), f.lit(0)),
        f.col("headers.key"),
        values,
        f.coalesce(f.array_join(values.cast("array<string>"), _BETWEEN, _NO_VALUE), f.lit("")),
    ]


def content() -> Column:
    return f.xxhash64(*content_fields())


def headers() -> Column:
    return f.xxhash64(*header_fields())
