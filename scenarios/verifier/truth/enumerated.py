"""All small truths: every log of a few records of two values, mirrored with up to one event.

Truths that leave the same evidence stand together in a group; one that holds clean and faulty ones cannot
be decided by anybody.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from itertools import product

from scenarios.verifier.histories import History
from scenarios.verifier.truth.appends import BEGIN_MS
from scenarios.verifier.truth.logs import Content, Copy, Knobs, Slot, Source, Target, Truth

Event = Callable[[list[Copy]], list[Copy]]
VALUES = (b"tick", b"tock")


def truths(records: int, *, duplicates_allowed: bool = False) -> Iterator[Truth]:
    """Of all logs with up to so many records, all mirrors with one event, with all starts of both logs."""
    for count in range(records + 1):
        for values in product(VALUES, repeat=count):
            for name, copies, begun in _mirrors(values):
                for start, target_start in product(range(count + 1), range(min(3, len(copies) + 1))):
                    source = Source(
                        slots=[Slot(content=_content(v)) for v in values], start=start, begun=begun
                    )
                    yield Truth(
                        knobs=Knobs(records=count, duplicates_allowed=duplicates_allowed),
                        source={0: source},
                        target={0: Target(copies=list(copies), start=target_start)},
                        planted=(name,),
                    )


def _content(value: bytes) -> Content:
    return Content(value=value, timestamp=BEGIN_MS)


def _mirrors(values: tuple[bytes, ...]) -> Iterator[tuple[str, list[Copy], int]]:
    """The name of the event, the copies, and where mirroring began."""
    whole = [Copy(content=_content(value), origin=(0, offset)) for offset, value in enumerate(values)]
    yield "nothing", whole, 0
    for place in range(len(whole)):
        yield "dropped", whole[:place] + whole[place + 1 :], 0
        if place:
            yield "begun late", whole[place:], place
            yield "ended early", whole[:place], 0
        for other in VALUES:
            changed = Copy(content=_content(other), origin=(0, place))
            yield "changed", [*whole[:place], changed, *whole[place + 1 :]], 0
        for later in range(place + 1, len(whole) + 1):
            yield "repeated", [*whole[:later], whole[place], *whole[later:]], 0
            yield "late", [*whole[:place], *whole[place + 1 : later], whole[place], *whole[later:]], 0
            yield "restarted", [*whole[:later], *whole[place:]], 0
    for place, value in product(range(len(whole) + 1), VALUES):
        yield "foreign", [*whole[:place], Copy(content=_content(value)), *whole[place:]], 0


def evidence_of(history: History) -> Hashable:
    """All that is seen, whatever the number of its case; equal only if every byte is."""
    return (
        tuple(sorted(history.source, key=lambda r: r.at)),
        tuple(sorted(history.target, key=lambda r: r.at)),
        tuple(history.ledger),
        tuple((p, tuple(vars(b).items())) for p, b in sorted(history.bounds.items())),
        (history.has_ledger, history.compacted),
    )


def grouped(some: Iterator[Truth], see: Callable[[Truth], History]) -> dict[Hashable, list[Truth]]:
    groups: dict[Hashable, list[Truth]] = defaultdict(list)
    for truth in some:
        groups[evidence_of(see(truth))].append(truth)
    return groups
