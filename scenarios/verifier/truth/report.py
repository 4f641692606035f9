"""Wrong verdicts sorted by family, each with its smallest example, both logs side by side."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from scenarios.verifier.truth.judge import Judgement, Label
from scenarios.verifier.truth.logs import Content, Copy, Slot, Truth
from scenarios.verifier.truth.twins import may_be_unknown

_KNOBS_SHOWN = 4


class Wrong(StrEnum):
    PASSED = "PASS on a faulty history"
    FAILED = "FAIL on a clean history"
    NEEDLESS_UNKNOWN = "UNKNOWN though the evidence decides"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A history, what is true of it, and what the verifier answered: PASS, FAIL or UNKNOWN of each check."""

    truth: Truth
    ledger: bool
    judgement: Judgement
    verdict: str
    checks: dict[str, tuple[str, str]]  # check → outcome and sentence

    @property
    def size(self) -> int:
        slots = sum(len(source.slots) for source in self.truth.source.values())
        return slots + sum(len(target.copies) for target in self.truth.target.values())

    def answering(self, outcome: str) -> tuple[str, ...]:
        return tuple(check for check, (answer, _) in self.checks.items() if answer == outcome)


def wrong(case: Case) -> Wrong | None:
    label = case.judgement.label
    if label is Label.FAULTY and case.verdict == "PASS":
        return Wrong.PASSED
    if label is Label.CLEAN and case.verdict == "FAIL":
        return Wrong.FAILED
    if case.verdict == "UNKNOWN" and not may_be_unknown(case.truth, case.judgement, ledger=case.ledger):
        return Wrong.NEEDLESS_UNKNOWN
    return None


def families(cases: Iterable[Case]) -> dict[tuple[str, ...], list[Case]]:
    """By what is wrong, which checks answered so, and what should have been found; the largest first."""
    found: dict[tuple[str, ...], list[Case]] = defaultdict(list)
    for case in cases:
        if kind := wrong(case):
            checks = (
                case.answering(case.verdict)
                if case.verdict != "PASS"
                else tuple(sorted(case.judgement.faults)) or ("older than the source",)
            )
            found[(str(kind), ", ".join(checks), "with ledger" if case.ledger else "no ledger")].append(case)
    return dict(sorted(found.items(), key=lambda family: -len(family[1])))


def report_of(cases: Sequence[Case], some: Sequence[Case], *, examples: int = 12) -> str:
    """Of all cases `some` that are wrong: a line for each family, then examples of the largest ones."""
    everyone = Counter(knob for case in cases for knob in case.truth.knobs.on)
    shown: list[str] = []
    lines = [f"{len(some):,} of {len(cases):,} verdicts are wrong"]
    for name, family in families(some).items():
        smallest = min(family, key=lambda case: case.size)
        lines.append(f"{len(family):>6,}  {' | '.join(name)} | {_striking(family, everyone, len(cases))}")
        if len(shown) < examples:
            shown.append(f"{' | '.join(name)}\n{dump(smallest)}")
    return "\n".join([*lines, "", *shown])


def _striking(family: Sequence[Case], everyone: Counter[str], total: int) -> str:
    """The choices and faults that stand in this family more often than elsewhere."""
    here = Counter(knob for case in family for knob in case.truth.knobs.on)
    share = {k: (n / len(family)) / (everyone[k] / total) for k, n in here.items() if n >= len(family) / 3}
    knobs = sorted((k for k in share if share[k] > 1.2), key=lambda k: -share[k])[:_KNOBS_SHOWN]
    faults = Counter(fault for case in family for fault in set(case.truth.planted))
    planted = [f"{name} {count}" for name, count in faults.most_common(_KNOBS_SHOWN)]
    return f"often {', '.join(knobs) or 'anything'}; planted {', '.join(planted) or 'nothing'}"


def dump(case: Case) -> str:
    """Enough to reproduce it and to see it: the seed, the bounds, and a row for each offset."""
    truth, judgement = case.truth, case.judgement
    lines = [
        f"  --seed {truth.seed}{' (with its ledger)' if case.ledger else ' (without a ledger)'}",
        f"  {', '.join(truth.knobs.on) or 'plain'}; planted: {', '.join(truth.planted) or 'nothing'}",
        f"  truth {judgement.label}: {dict(judgement.faults)}, not judged {dict(judgement.not_judged)}; "
        f"verdict {case.verdict}",
    ]
    lines += [f"    {c}: {o}, {m}" for c, (o, m) in case.checks.items() if o in ("FAIL", "UNKNOWN")]
    for partition, source in truth.source.items():
        target = truth.target[partition]
        lines.append(
            f"  partition {partition}: source from {source.start} to {len(source.slots)}, owed to "
            f"{source.owed_end}; target from {target.start} to {len(target.copies)}"
        )
        for offset in range(max(len(source.slots), len(target.copies))):
            left = _slot(truth, partition, offset) if offset < len(source.slots) else ""
            right = _copy(truth, partition, offset) if offset < len(target.copies) else ""
            lines.append(f"  {offset:>4}  {left:<52}{right}".rstrip())
    outcomes = {1: "acked", 2: "failed", 3: "unknown"}
    if case.ledger:
        sent = (f"{s.sequence} {outcomes[s.outcome]} {(s.partition, s.offset)}" for s in truth.ledger)
        lines.append(f"  ledger: {'; '.join(sent)}")
    return "\n".join(lines)


def _slot(truth: Truth, partition: int, offset: int) -> str:
    slot: Slot = truth.source[partition].slots[offset]
    gone = "" if truth.lives((partition, offset)) else "(gone) "
    sent = "" if slot.sent is None else f" #{slot.sent}"
    end = "" if slot.end == "committed" else f" {slot.end}"
    return f"{gone}{_content(slot.content)}{sent}{end}"


def _copy(truth: Truth, partition: int, offset: int) -> str:
    copy: Copy = truth.target[partition].copies[offset]
    gone = "(gone) " if offset < truth.target[partition].start or copy.compacted else ""
    whence = "foreign" if copy.content else ""
    if copy.origin and copy.content:
        there = vars(truth.content(copy.origin))
        other = [name for name, value in vars(copy.content).items() if value != there[name]]
        changed = [name for name in other if name != "timestamp" or not copy.stamped]
        whence = " ".join([f"of {copy.origin[0]}/{copy.origin[1]}", *(f"OTHER {name}" for name in changed)])
    elif copy.other_source or copy.earlier_topic:
        whence = "of another source" if copy.other_source else "of the earlier topic"
    return f"{gone}{_content(copy.content)} {whence}"


def _content(content: Content | None) -> str:
    if content is None:
        return "marker"
    key = "-" if content.key is None else content.key.decode(errors="replace") or "''"
    value = "null" if content.value is None else repr(content.value[:14])[1:]
    headers = f" h{len(content.headers)}" if content.headers else ""
    return f"{key}={value}{headers} t{content.timestamp % 10_000}"
