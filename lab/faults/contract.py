"""What every fault goes through: proved when it begins and when it ends, and undone whatever happens."""

import dataclasses
from collections.abc import Callable
from typing import Any, Final

from lab.errors import BadInput, LabError
from lab.faults import journal
from lab.faults.fault import Act, Fault, FaultNotObserved, Ground, Mark
from lab.faults.journal import Entry
from lab.faults.limit import Limit
from lab.interruption import uninterruptible
from lab.wait import ISR_FULL_S, NotYet, TimedOut, wait_until

LONGEST_S: Final = 86_400.0


class Injected:
    """A fault in force, until it is healed, by this process or by its time limit."""

    def __init__(self, lab: Ground, act: Act, entry: Entry, limit: Limit, limit_s: float) -> None:
        self.what, self.entry = act.what, entry
        self.proof = ""
        self._lab, self._act, self._limit, self._limit_s = lab, act, limit, limit_s

    @property
    def id(self) -> str:
        return self.entry.id

    def make(self) -> None:
        """Nobody heals it meanwhile, and no Ctrl-C leaves it half done: healed too early, it would stay."""
        with uninterruptible(), self.entry.held():
            self._require_in_force()
            try:
                self._act.inject()
            except TimedOut as error:
                raise FaultNotObserved(f"{self.what}: {error.message}", error.hint) from error

    def prove(self) -> str:
        """That it is in force, still; a fault that its time limit has undone is not."""
        self._require_in_force()
        try:
            proof = self._act.prove()
        except FaultNotObserved:
            raise
        except LabError as error:  # who looked saw nothing: that is no proof either
            raise FaultNotObserved(f"{self.what}: {error.message}", error.hint) from error
        self._require_in_force()  # not undone while it was looked at
        self.entry.write("proved", by=proof)
        self.proof = proof
        return proof

    def heal(self, who: str) -> str:
        """Undo it, prove that, and wait until the clusters have all their replicas again."""
        by = self.entry.heal(who) or "the lab is gone"
        self._limit.end()
        _settle(self._lab)
        return by

    def leave(self) -> None:
        """To its time limit, or to whoever heals it before."""
        self._limit.leave()

    def _require_in_force(self) -> None:
        if not self.entry.is_open:
            limit = f"its time limit of {self._limit_s:g} s"
            raise FaultNotObserved(
                f'fault "{self.what}" was undone by somebody else, or after {limit}', "give it a longer one"
            )


def inject(lab: Ground, fault: Fault, *, limit_s: float) -> Injected:
    """Make a fault and prove it; what cannot be proved is undone again, and raises."""
    if not 0 < limit_s <= LONGEST_S:
        raise BadInput(f"a fault cannot last {limit_s:g} s", f"more than 0 and up to {LONGEST_S:,.0f} s")
    mark = Mark(id=journal.new_id(), limit_s=limit_s)
    act = fault.check(lab, mark)
    entry = Entry.open(
        lab.name,
        mark.id,
        what=act.what,
        settings={"fault": fault.name, **_settings(fault)},
        inverse=act.inverse,
        limit_s=limit_s,
    )
    try:
        limit = Limit(entry, limit_s)
    except BaseException:
        entry.path.unlink()  # nothing has been done
        raise
    injected = Injected(lab, act, entry, limit, limit_s)
    try:
        injected.make()
        injected.prove()
    except BaseException as error:
        with uninterruptible():
            try:
                injected.heal("not proved")
            except LabError as left:  # the time limit goes on trying; what went wrong first is told
                error.add_note(f'fault "{act.what}" is not undone: {left}')
        raise
    return injected


def heal(lab: Ground, who: str) -> list[tuple[Entry, str]]:
    """Undo every fault of a lab that may be in force, and wait until the clusters are whole again."""
    found = _of_each(lab.name, lambda entry: entry.heal(who))
    healed = [(entry, by) for entry, by in found if by]
    if healed:
        _settle(lab)
    return healed


def clear(lab: str) -> list[Entry]:
    """What must go before a lab starts, of the faults that may be in force; `heal` is for when it is up."""
    return [entry for entry, _ in _of_each(lab, Entry.clear)]


def _of_each(lab: str, do: Callable[[Entry], str | None]) -> list[tuple[Entry, str | None]]:
    """The last one first. One that cannot be undone does not keep the others from it; then its error."""
    done, failed = [], []
    for entry in reversed(journal.open_entries(lab)):
        try:
            done.append((entry, do(entry)))
        except LabError as error:
            failed.append(LabError(f"{entry.what} is not undone: {error.message}", error.hint))
    if failed:
        raise failed[0]
    return done


def _settle(lab: Ground) -> None:
    """Unless another fault is in force, which may be what keeps replicas away."""
    if not journal.open_entries(lab.name):
        wait_until_in_sync(lab)


def wait_until_in_sync(lab: Ground) -> None:
    """All replicas of all partitions: with one missing, the next fault would do more than it says."""
    for alias, brokers in lab.topology.roles.clusters.items():
        if not brokers:
            continue
        cluster = lab.cluster(alias)
        cluster.wait_until_answers(len(brokers))

        def observe() -> bool | NotYet:
            behind = cluster.under_replicated()  # noqa: B023 - asked within this round
            shown = ", ".join(f"{topic}-{partition}" for topic, partition in behind[:5])
            return not behind or NotYet(f"{len(behind)} behind: {shown}")

        wait_until(
            observe,
            timeout_s=ISR_FULL_S,
            what=f'all replicas of cluster "{alias}" in sync',
            transient=(LabError,),
            pause_s=0.2,
        )


def _settings(fault: Fault) -> dict[str, Any]:
    """As text, for people: what undoes it stands beside."""
    return {field.name: str(getattr(fault, field.name)) for field in dataclasses.fields(fault)}  # type: ignore[arg-type]
