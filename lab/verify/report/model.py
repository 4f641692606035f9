"""What a verification saved in its run, as types: `verdict.json` is parsed here and nowhere else.

Only the topic and the outcome must be there: a verification that ended early saves what it has. Keys that
this version does not know are passed over, so that an older lab shows a newer run.
"""

import json
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    NonNegativeInt,
    ValidationError,
    model_validator,
)

from lab.errors import BadInput
from lab.verify.verdict import Outcome

TROUBLES: Final = ("missing", "duplicate", "reordered", "damaged", "foreign")
_HINT: Final = 'verify the topic again with "lab verify"'


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: Any) -> Any:
        return {k: v for k, v in data.items() if v is not None} if isinstance(data, dict) else data


class Stage(_Part):
    name: str
    seconds: FiniteFloat


class CheckVerdict(_Part):
    check: str
    outcome: Outcome
    meaning: str = ""
    counts: dict[str, int | float] = {}
    first: tuple[dict[str, Any], ...] = ()


class Partition(_Part):
    """Where both sides were read from and to, and the rows found; None where a side has no such partition."""

    partition: int
    s_start: int | None = None
    s_end: int | None = None
    s_rows: int | None = None
    t_start: int | None = None
    t_end: int | None = None
    t_rows: int | None = None


Point = tuple[FiniteFloat, FiniteFloat]


class Series(_Part):
    """Records per second on each side: [second since 1970, records]; empty seconds may be left out."""

    source: tuple[Point, ...] = ()
    target: tuple[Point, ...] = ()


class Sample(_Part):
    """How many offsets both sides had at one moment: records, and markers of transactions."""

    at: FiniteFloat
    source: FiniteFloat
    target: FiniteFloat

    @property
    def lag(self) -> float:
        return self.source - self.target


class Bucket(_Part):
    upper_ms: float | None = None  # None: no bound
    count: NonNegativeInt

    @model_validator(mode="before")
    @classmethod
    def _from_pair(cls, data: Any) -> Any:
        if isinstance(data, list | tuple) and len(data) == 2:
            return {"upper_ms": data[0], "count": data[1]}
        return data


class Latency(_Part):
    p50: FiniteFloat | None = None
    p95: FiniteFloat | None = None
    p99: FiniteFloat | None = None
    histogram: tuple[Bucket, ...] = ()

    @property
    def marks(self) -> list[tuple[str, float]]:
        found = (("p50", self.p50), ("p95", self.p95), ("p99", self.p99))
        return [(name, value) for name, value in found if value is not None]


class TroubledPartition(_Part):
    """Records in trouble, by their place: one number per bin, the first bin at the first record."""

    partition: int
    records: int = 0
    missing: tuple[NonNegativeInt, ...] = ()
    duplicate: tuple[NonNegativeInt, ...] = ()
    reordered: tuple[NonNegativeInt, ...] = ()
    damaged: tuple[NonNegativeInt, ...] = ()
    foreign: tuple[NonNegativeInt, ...] = ()  # by place on the target; the others by that in the source

    def bins(self, kind: str) -> tuple[int, ...]:
        found: tuple[int, ...] = getattr(self, kind)
        return found

    @property
    def total(self) -> int:
        return sum(sum(self.bins(kind)) for kind in TROUBLES)


class Trouble(_Part):
    bins: Annotated[int, Field(ge=1)] = 100
    partitions: tuple[TroubledPartition, ...] = ()
    without_place: NonNegativeInt = 0  # records in trouble of which nobody knows where they were

    @model_validator(mode="after")
    def _all_bins_are_there(self) -> "Trouble":
        for partition in self.partitions:
            for kind in TROUBLES:
                found = len(partition.bins(kind))
                if found not in (0, self.bins):
                    raise ValueError(
                        f"partition {partition.partition} has {found} bins of {kind}, not {self.bins}"
                    )
        return self


class FaultSpan(_Part):
    """When a fault was in force; a fault without an end lasted until nobody looked any more."""

    name: str
    begin: Annotated[FiniteFloat, Field(alias="from")]
    end: Annotated[FiniteFloat | None, Field(alias="to")] = None


class Report(_Part):
    topic: str
    outcome: Outcome
    remote: str = ""
    lab: str = ""
    topology: str = ""
    kafka: str = ""
    commit: str = ""
    run: str = ""
    source: str = "source"
    target: str = "target"
    frozen_at: str = ""
    versions: dict[str, str] = {}
    stages: tuple[Stage, ...] = ()
    verdicts: tuple[CheckVerdict, ...] = ()
    partitions: tuple[Partition, ...] = ()
    series: Series = Series()
    samples: tuple[Sample, ...] = ()
    latency_ms: Latency | None = None
    trouble: Trouble | None = None
    faults: tuple[FaultSpan, ...] = ()


def parse(text: str, *, name: str = "verdict.json") -> Report:
    """A report from JSON; every problem names its place, e.g. `samples.3.at`."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f'"{name}" is not JSON: {error}', _HINT) from error
    try:
        return Report.model_validate(data)
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, e['loc'])) or 'all of it'}: {e['msg']}" for e in error.errors()]
        more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise BadInput(f'"{name}" is no verdict: {"; ".join(problems[:3])}{more}', _HINT) from error


def read(path: Path) -> Report:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f'"{path.name}" cannot be read: {error}', _HINT) from error
    return parse(text, name=path.name)
