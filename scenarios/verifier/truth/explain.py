"""Whether what stands on the target can be a mirror of the source, whichever of equal records is which.

A search over one partition: each record of the target takes a later place in the source than the one
before it, or repeats one; whatever was owed and is passed over must have stood on the target before the
first record that is left there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lab.records import identity_in, payload, record_id
from scenarios.verifier.histories import RUN
from scenarios.verifier.truth.logs import Content

_NONE = -1


@dataclass(frozen=True, kw_only=True)
class Item:
    """A place in the source; without content it may have held anything."""

    offset: int
    content: Content | None
    must: bool  # owed
    covered: bool = False  # a copy of it stood on the target and has been deleted
    not_of_lab: bool = False  # a ledger names all records of the lab, and none at this place
    sent: int | None = None  # of a record that the source has deleted the ledger knows its id alone


@dataclass(kw_only=True)
class Explanation:
    """The offset that each record of the target has in the source, and which were on the target earlier."""

    offsets: list[int] = field(default_factory=list)
    earlier: set[int] = field(default_factory=set)


@dataclass(frozen=True, kw_only=True)
class _State:
    spent: int = 0  # of the records that the target has deleted
    path: tuple["_State", int, bool] | None = None  # from where, to which item, and whether as a repetition


def names_lab(content: Content) -> int | None:
    """The sequence of the lab's record that the content says it is."""
    found = identity_in(content.value, content.headers)
    return found[2] if found and found[0] == RUN else None


def is_damaged(content: Content, sent: int) -> bool:
    """Whether the id alone proves the value wrong; one that was cut short may have been as short."""
    value = content.value
    return value is not None and value != payload(record_id(RUN, sent), len(value))


def matches(item: Item, found: Content, *, stamped: bool) -> bool:
    if item.sent is not None:
        return names_lab(found) == item.sent and not is_damaged(found, item.sent)
    if item.content is None:
        return not item.not_of_lab or names_lab(found) is None
    if stamped:
        timestamp = item.content.timestamp
        return found.timestamp >= timestamp and replace(found, timestamp=timestamp) == item.content
    return found == item.content


def explain(
    items: Sequence[Item], found: Sequence[Content], *, stamped: bool, repeats: bool, spare: int = 0
) -> Explanation | None:
    """`spare` is how many records of any kind the target may have deleted beyond those that are covered."""
    owed = [0]
    for item in items:
        owed.append(owed[-1] + (item.must and not item.covered))
    states = {_NONE: _State()}
    for number, content in enumerate(found):
        fitting = [i for i, item in enumerate(items) if matches(item, content, stamped=stamped)]
        fitting.sort(key=lambda i: items[i].content is None)  # rather a record that is known
        states = _next(items, states, fitting, owed, again=content in found[:number], repeats=repeats)
        states = {at: state for at, state in states.items() if state.spent <= spare}
    ends = [(state.spent + owed[-1] - owed[at + 1], at) for at, state in states.items()]
    best = min(ends, default=(spare + 1, _NONE))
    return _explanation(items, states[best[1]]) if best[0] <= spare else None


def _next(
    items: Sequence[Item],
    states: dict[int, _State],
    fitting: list[int],
    owed: list[int],
    *,
    again: bool,
    repeats: bool,
) -> dict[int, _State]:
    """The states after one more record; of those that end at one place the cheapest."""
    after: dict[int, _State] = {}

    def reach(at: int, spent: int, state: _State, item: int, *, repeated: bool) -> None:
        if at not in after or spent < after[at].spent:
            after[at] = _State(spent=spent, path=(state, item, repeated))

    for at, state in states.items():
        for item in fitting:
            if item > at:
                reach(item, state.spent + owed[item] - owed[at + 1], state, item, repeated=False)
            elif not repeats:
                continue
            elif again:
                if _used(state, item):
                    reach(at, state.spent, state, item, repeated=True)
            elif items[item].content or not _used(state, item):
                # a replay of what the target has deleted; what was owed is paid for already
                free = items[item].covered or items[item].must
                reach(at, state.spent + (not free), state, item, repeated=True)
    return after


def _used(state: _State, item: int) -> bool:
    while state.path:
        state, at, _ = state.path
        if at == item:
            return True
    return False


def _explanation(items: Sequence[Item], state: _State) -> Explanation:
    found = Explanation()
    used: set[int] = set()
    replayed: set[int] = set()
    while state.path:
        state, item, repeated = state.path
        found.offsets.insert(0, items[item].offset)
        (replayed if repeated else used).add(item)
    passed_over = {i for i, item in enumerate(items) if item.must and i not in used}
    found.earlier = {items[i].offset for i in passed_over | (replayed - used)}
    return found
