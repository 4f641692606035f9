"""MM2's connectors on a Connect cluster: judged, brought to what their files say, and waited for."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lab.connect import Connect
from lab.errors import BadInput, nearest
from lab.kafka import Cluster
from lab.mm2 import CHECKPOINT, SOURCE, Connector, Problem, Severity, cluster_of, is_kafka_4
from lab.mm2_names import Names
from lab.mm2_plan import Plan, plan
from lab.mm2_positions import Position, assigned, committed, positions
from lab.mm2_problems import nothing_to_mirror, problems
from lab.mm2_status import Status
from lab.mm2_together import problems_between
from lab.topology import Topology


@dataclass(frozen=True)
class Connectors:
    topology: Topology
    connect: Connect
    cluster: Callable[[str], Cluster]

    @property
    def names(self) -> Names:
        return Names.of(self.topology)

    def named(self, names: list[str] | None) -> list[str]:
        """Connectors that are deployed: those named, or all; one that is not there is refused."""
        there = self.connect.names()
        asked = self.names.connectors(names, there) if names else there
        for name in asked:
            if name not in there:
                raise BadInput(f'no connector "{name}" is deployed', nearest(name, there))
        return asked

    # -- judging ---------------------------------------------------------------------------------

    def problems(self, chosen: Sequence[Connector]) -> dict[str, list[Problem]]:
        """What the worker says against each, then what it misses."""
        topics = {alias: self.cluster(alias).topic_names() for alias in self._clusters(chosen)}
        between = problems_between(
            chosen, self.connect.connectors(), sorted({topic for names in topics.values() for topic in names})
        )
        return {
            connector.name: [
                *self._objections(connector),
                *problems(connector, self.topology),
                *self._no_topic(connector, topics),
                *between[connector.name],
            ]
            for connector in chosen
        }

    def introduced(self, before: Connector, after: Connector) -> list[Problem]:
        """What a change brings with it; what was wrong before may stay so."""
        found = self.problems([after])[after.name]
        known = self.problems([before])[before.name] if found else []
        return [problem for problem in found if problem not in known]

    def _no_topic(self, connector: Connector, topics: Mapping[str, list[str]]) -> Iterator[Problem]:
        source = cluster_of(self.topology, connector, "source")
        if source in topics:  # else it is a cluster that this lab does not know
            yield from nothing_to_mirror(connector, topics[source], kafka_4=self._kafka_4)

    def _clusters(self, chosen: Sequence[Connector]) -> set[str]:
        named = {cluster_of(self.topology, one, side) for one in chosen for side in ("source", "target")}
        return named & set(self.topology.roles.clusters)

    @property
    def _kafka_4(self) -> bool:
        return is_kafka_4(self.connect.version())

    def _objections(self, connector: Connector) -> list[Problem]:
        return [
            Problem(severity=Severity.ERROR, key=o.key, message=o.message, remedy="the worker refuses it")
            for o in self.connect.validate(connector)
        ]

    # -- doing -----------------------------------------------------------------------------------

    def plans(self, chosen: Sequence[Connector]) -> list[Plan]:
        there = self.connect.deployed()
        return [plan(connector, there.get(connector.name)) for connector in chosen]

    def carry_out(self, plan: Plan) -> None:
        """What the plan says; `wait` then waits until it is true."""
        name = plan.connector.name
        before = self.connect.status(name) if plan.changed or plan.restart else None
        if plan.create or plan.changed:
            self.connect.deploy(plan.connector)
        for part in plan.restart:
            self.connect.restart(name, part)
        if plan.resume:
            self.connect.resume(name)
        if before is not None and before.failure:
            self.connect.wait_until_news(before)

    def wait(self, connector: Connector, *, changed: Collection[str] = ()) -> Status:
        """Until it and its tasks run; without tasks where MM2 has nothing to do for it.

        Of keys that were changed some were taken away: all else may stand in the earlier config too.
        """
        keys = (*connector.config, *changed)
        return self._runs(connector, {key: connector.config.get(key) for key in keys} if changed else None)

    def _runs(self, connector: Connector, config: Mapping[str, str | None] | None) -> Status:
        idle = self.why_idle(connector) is not None
        return self.connect.wait_until_runs(connector.name, idle=idle, config=config)

    def restart(self, name: str) -> None:
        """The connector and then each of its tasks, failed or not; `wait` then waits until they run."""
        before = self.connect.status(name)
        for part in (None, *(task.id for task in before.tasks)):
            self.connect.restart(name, part)
        if before.failure:
            self.connect.wait_until_news(before)

    def wait_for(self, name: str) -> Status:
        """As `wait`, with the config that it has; for a while, since RUNNING may be from before."""
        return self._runs(Connector(name=name, config=self.connect.config(name)), {})

    def why_idle(self, connector: Connector) -> str | None:
        """Why MM2 gives this connector no task at present, if it gives it none."""
        kind = connector.connector_class
        if switch := connector.switched_off_by:
            return f'"{switch}" is false'
        alias = cluster_of(self.topology, connector, "source")
        if alias not in self.topology.roles.clusters:
            return None
        source = self.cluster(alias)
        if kind == SOURCE:
            found = nothing_to_mirror(connector, source.topic_names(), kafka_4=self._kafka_4)
            without_tasks = any(problem.severity is Severity.ERROR for problem in found)
            return "no topic matches yet" if without_tasks else None
        if kind != CHECKPOINT:
            return None
        interval_s = connector.config.get("refresh.groups.interval.seconds", "600")
        kafka_4 = self._kafka_4
        groups = (group for group in source.group_states() if connector.takes_group(group))
        read = (topic for group in groups for topic, _ in source.group_offsets(group))
        if any(connector.mirrors(topic, kafka_4=kafka_4) for topic in read):
            return None
        return f"no consumer group has offsets in a mirrored topic yet; MM2 looks again every {interval_s} s"

    # -- how far ---------------------------------------------------------------------------------

    def positions(self, name: str) -> list[Position] | None:
        """What Connect has committed for each source partition; None if the connector keeps no positions."""
        connector = Connector(name=name, config=self.connect.config(name))
        if connector.connector_class != SOURCE:
            return None
        done = committed(self.connect.offsets(name))
        mirrored = set(assigned(self.connect.task_configs(name)))
        source = self.cluster(cluster_of(self.topology, connector, "source"))
        ends = source.offsets_of({topic for topic, _ in {*done, *mirrored}})
        return positions(done, mirrored, {place: offsets.end for place, offsets in ends.items()})
