"""Since when something is not as MM2's rules have it: what is wrong by now, and when the rest will be.

A row is given its fields about time here, from what this look and earlier verdicts saw.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from lab.kafka import WITHOUT_MEMBERS, Offsets
from lab.mm2_records import Checkpoint
from lab.verify.due import Due, Dues
from lab.verify.parity import AclRow, ConfigRow, GroupRow, TopicRow
from lab.verify.seen import Seen

R = TypeVar("R", ConfigRow, AclRow, TopicRow)


@dataclass
class Standing:
    """One look. `later`: when a check will judge what is not due; `waits`: what is worth waiting for."""

    seen: Seen
    dues: Dues
    now_ms: int
    begun_ms: int  # when this verdict looked first
    later: dict[str, str] = field(default_factory=dict)
    waits: list[str] = field(default_factory=list)

    def topics(self, rows: Iterable[TopicRow]) -> list[TopicRow]:
        def wrong(row: TopicRow) -> object:
            missing = row.t_partitions is None or row.t_partitions < row.s_partitions
            return [row.s_partitions, row.t_partitions] if row.selected and missing else None

        return self._aged("topic_set", self.dues.topics, rows, wrong, lambda row: row.topic)

    def configs(self, rows: Iterable[ConfigRow]) -> list[ConfigRow]:
        def wrong(row: ConfigRow) -> object:
            differs = row.judged and row.expected != row.found and row.rule != "untouched"
            return [row.expected, row.found] if differs else None

        return self._aged("topic_configs", self.dues.configs, rows, wrong, lambda r: f"{r.topic} {r.key}")

    def acls(self, rows: Iterable[AclRow]) -> list[AclRow]:
        def name(row: AclRow) -> str:
            return f"{row.topic} {row.principal} {row.host} {row.operation} {row.permission}"

        def wrong(row: AclRow) -> object:
            return "missing" if row.expected and not row.found else None

        return self._aged("acls", self.dues.acls, rows, wrong, name)

    def _aged(
        self,
        check: str,
        due: Due,
        rows: Iterable[R],
        wrong: Callable[[R], object],
        name: Callable[[R], str],
    ) -> list[R]:
        aged: list[R] = []
        young: list[int] = []
        for row in rows:
            difference = wrong(row)
            if difference is None:
                aged.append(row)
                continue
            since = self.seen.since(f"{check} {name(row)}", difference, self.now_ms)
            aged.append(replace(row, due=due.passed(since, self.now_ms)))
            young += [] if aged[-1].due else [since]
        if young:
            self._not_due(check, due, max(young))
        return aged

    def _not_due(self, check: str, due: Due, since_ms: int) -> None:
        self.later[check] = due.later(since_ms)
        if due.short:
            self.waits.append(check)

    @property
    def groups_may_wait(self) -> bool:
        """Whether it is worth reading checkpoints to know for which groups to wait."""
        return self.dues.emitted.short or self.dues.synced.short

    def groups(self, rows: Iterable[GroupRow]) -> list[GroupRow]:
        aged: list[GroupRow] = []
        for row in rows:
            own, there = f"source {row.group} {row.partition}", f"target {row.group} {row.partition}"
            idle = row.t_state in WITHOUT_MEMBERS
            committed = self.seen.since(own, row.s_committed, self.now_ms)
            stood = self.seen.since(there, [row.t_committed, idle], self.now_ms)
            owed = self.seen.at(own, self.now_ms - self.dues.emitted.after_s * 1000)
            aged.append(
                replace(
                    row,
                    fresh_ms=int(self.now_ms - min(self.dues.emitted.after_s, 1e9) * 1000),
                    s_owed=-1 if owed is None else owed,
                    settled=self.dues.emitted.passed(committed, self.now_ms),
                    known=self.dues.covered.passed(self.seen.first(own), self.now_ms),
                    rested=idle and self.dues.synced.passed(stood, self.now_ms),
                )
            )
            self._later("tightness", self.dues.emitted, committed, aged[-1].settled)
            self._later("coverage", self.dues.emitted, committed, aged[-1].settled)
            self._later("coverage", self.dues.covered, self.seen.first(own), aged[-1].known)
        self.later["group_offsets"] = self.dues.synced.later(self.now_ms)
        return aged

    def _later(self, check: str, due: Due, since_ms: int, passed: bool) -> None:
        if not passed:
            self.later[check] = due.later(since_ms)

    def await_groups(
        self,
        rows: Sequence[GroupRow],
        checkpoints: Iterable[Checkpoint],
        ends: tuple[Mapping[int, Offsets], Mapping[int, Offsets]],
        offset_lag_max: int,
    ) -> None:
        """Note for which groups MM2 may still do something soon."""
        latest = {(c.group, c.topic, c.partition): c for c in checkpoints}
        for row in rows:
            found = latest.get((row.group, row.topic, row.partition))
            source, target = (side.get(row.partition, Offsets(start=0, end=0)) for side in ends)
            head = row.s_committed >= source.end
            idle = row.synced and row.t_state in WITHOUT_MEMBERS and not row.rested
            # nobody waits for a group that has moved on meanwhile to stand still
            stands = not row.settled and self._since(row) <= self.begun_ms
            if found is None:
                if head and target.end and (not row.known or stands) and self.dues.covered.short:
                    self.waits.append(f'a checkpoint of group "{row.group}"')
                continue
            far = target.end - found.downstream >= max(1, offset_lag_max)
            if far and head and stands and self.dues.emitted.short:
                self.waits.append(f'a newer checkpoint of group "{row.group}"')
            if idle and row.t_committed < found.downstream and self.dues.synced.short:
                self.waits.append(f'the offset of group "{row.group}" on the target')

    def _since(self, row: GroupRow) -> int:
        return self.seen.since(f"source {row.group} {row.partition}", row.s_committed, self.now_ms)
