"""Runs that lie on disk, whole or not: a killed run has no outcome, a torn file is no reason to fail.

`lab.run` writes them; this module only reads.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from lab.errors import BadInput, nearest
from lab.project import runs_folder

LAST: Final = "last"
_STAMP: Final = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, kw_only=True)
class PastStep:
    name: str
    seconds: float | None
    outcome: str
    note: str


@dataclass(frozen=True, kw_only=True)
class PastRun:
    folder: Path
    what: str
    started: datetime | None
    outcome: str
    seconds: float | None

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def verdicts(self) -> list[Path]:
        """What verifications saved: `verdict.json`, then `verdict-2.json` and so on, then those by name."""
        return sorted(self.folder.glob("verdict*.json"), key=_in_order)

    @property
    def files(self) -> dict[str, int]:
        """Every saved file with its size in bytes."""
        found = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.stat().st_size for path in found}

    @property
    def steps(self) -> list[PastStep]:
        return list(_steps(self.folder / "steps.jsonl"))


def all_runs() -> list[PastRun]:
    """Every run, the newest first."""
    folder = runs_folder()
    if not folder.is_dir():
        return []
    found = [_read(path) for path in folder.iterdir() if path.is_dir()]
    long_ago = datetime.min.replace(tzinfo=UTC)
    return sorted(found, key=lambda run: (run.started or long_ago, run.name), reverse=True)


def find(wanted: str) -> PastRun:
    """A run by its folder's name or path, by the beginning of its name if only one begins so, or the last."""
    found = all_runs()
    names = [run.name for run in found]
    wanted = Path(wanted).name
    if not found:
        raise BadInput(f'no run named "{wanted}"', 'there is none yet; "lab up" leaves one behind')
    if wanted == LAST:
        return found[0]
    fitting = [run for run in found if run.name == wanted] or [
        run for run in found if run.name.startswith(wanted)
    ]
    if len(fitting) > 1:
        shown = ", ".join(run.name for run in fitting[:5])
        more = f" and {len(fitting) - 5} more" if len(fitting) > 5 else ""
        raise BadInput(f'{len(fitting)} runs begin with "{wanted}"', f"give more of the name: {shown}{more}")
    if not fitting:
        hint = nearest(wanted, names)
        raise BadInput(f'no run named "{wanted}"', hint if hint.startswith("did") else '"lab runs" shows all')
    return fitting[0]


def _read(folder: Path) -> PastRun:
    stamp, _, what = folder.name.partition("-")
    facts = _facts(folder / "run.json")
    if facts is None:
        return PastRun(
            folder=folder, what=what, started=_stamped(stamp), outcome="no readable run.json", seconds=None
        )
    said, took = facts.get("what"), facts.get("seconds")
    outcome = facts.get("outcome")
    return PastRun(
        folder=folder,
        what=said if isinstance(said, str) else what,
        started=_moment(facts.get("started")) or _stamped(stamp),
        # Only a run that ended has an outcome; this one goes on, or was killed.
        outcome=outcome if isinstance(outcome, str) else "not ended",
        seconds=float(took) if isinstance(took, int | float) else None,
    )


def _facts(path: Path) -> dict[str, Any] | None:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return facts if isinstance(facts, dict) else None


def _steps(path: Path) -> Iterator[PastStep]:
    """The steps in the order of their ends; a line that a crash tore is passed over."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        try:
            step = json.loads(line)
        except ValueError:
            continue
        if isinstance(step, dict) and "step" in step:
            seconds = step.get("seconds")
            yield PastStep(
                name=str(step["step"]),
                seconds=float(seconds) if isinstance(seconds, int | float) else None,
                outcome=str(step.get("outcome", "")),
                note=str(step.get("note", "")),
            )


def _in_order(verdict: Path) -> tuple[bool, int, str]:
    number = verdict.stem.removeprefix("verdict").removeprefix("-") or "1"
    return not number.isdecimal(), int(number) if number.isdecimal() else 0, verdict.name


def _moment(iso: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(iso))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _stamped(stamp: str) -> datetime | None:
    try:
        return datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None
