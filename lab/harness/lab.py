"""Lab: what a scenario does with a running topology. `up` reads as the list of its steps."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from lab import leases, monitoring, removal, security, topology
from lab.errors import BadInput, NotEnough
from lab.harness import breaking, coming, ending, settings
from lab.harness.flows import Flows
from lab.harness.no_verdict import no_verdict_if_it_fails
from lab.harness.parts import PROJECT_PREFIX, Parts
from lab.mm2 import Connector, read_connector
from lab.project import kafka_version
from lab.removal import Removed
from lab.run import Run, Watcher
from lab.setup import require_engine, require_memory
from lab.wait import FAULT_LIMIT_S, RECORDS_ARRIVE_S, SERVICES_HEALTHY_S

if TYPE_CHECKING:
    from lab.connectors import Connectors
    from lab.faults import Fault, Injected
    from lab.mm2_status import Status
    from lab.verify.flow import Flow
    from lab.verify.verification import Judged


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What `up` was asked for; checked as a whole before anything is created."""

    topology: str
    name: str | None = None
    kafka: str | None = None
    ports: tuple[str, ...] = ()
    keep: bool = False
    timeout_s: float = SERVICES_HEALTHY_S
    profiles: tuple[str, ...] = ()  # of Compose: services that are not started otherwise
    variables: Mapping[str, str] = field(default_factory=dict)  # of the topology: others than its defaults


@dataclass
class Lab(Parts):
    """A running topology; its parts are in `Parts`."""

    run: Run | None = None

    @classmethod
    def up(cls, wish: Wish, watcher: Watcher | None = None) -> Lab:
        """Start the lab, or make a running or half-started one what it should be."""
        chosen = topology.load(wish.topology)
        name = leases.check_name(wish.name or chosen.name)
        kept = None if wish.kafka else settings.version_of(name)
        version = kept or kafka_version(wish.kafka, of=chosen.roles.kafka)
        settings.require_same(name, chosen, version)
        chosen.check_kafka_version(version)
        for path in chosen.connector_files().values():
            read_connector(path)
        wanted = settings.wanted(name, chosen, version, wish.profiles)
        chosen = settings.started(chosen, wanted)
        wanted |= settings.variables(name, chosen, wish.variables)
        with_ui = chosen.with_profile(monitoring.UI) if monitoring.UI in chosen.profiles else chosen
        asked = leases.asked_ports(list(wish.ports), with_ui, name)
        if chosen.services:
            require_engine()
        if monitoring.UI in wish.profiles:
            monitoring.require_ui(chosen)
        without_ui = monitoring.without_ui(chosen)
        if with_ui is not chosen and not without_ui:
            wanted |= settings.wanted(name, chosen, version, (*wish.profiles, monitoring.UI))
            chosen = with_ui

        with leases.exclusive(name):
            lease = leases.leased(name)
            before = chosen.services and removal.holds_anything(PROJECT_PREFIX + name)
            if before and lease is None:
                raise BadInput(
                    f'lab "{name}" is there, started by another user, or what was known of it is lost',
                    f'choose another --name; "lab down --name {name}" removes it',
                )
            if not before:
                require_memory(chosen.memory_bytes_with(wanted))
            run = Run.open(f"up-{name}", watcher, topology=chosen.name, kafka=version)
            lab: Lab | None = None
            try:
                if without_ui:
                    with run.step("look for Grafana and Kafka UI") as step:
                        step.note = without_ui
                if chosen.services:
                    coming.ensure_images(run, version, chosen)
                lab = cls(name, chosen, version, leases.lease(name, chosen, wanted, asked), run)
                monitoring.write(name, chosen)
                security.write(name, chosen)
                with breaking.healed_around(lab, run):
                    coming.start(lab, run, wish.timeout_s)
                    coming.restart_with_new_certificates(lab, run, wish.timeout_s)
                coming.wait_until_answers(lab, run)
                coming.require_ready(lab)
                run.close("up", ports=dict(lab.ports))
            except BaseException as error:
                # what was there before may hold records that somebody wants, however this ended
                raise ending.abandon(
                    name, lab, run, error, keep=wish.keep or bool(before), lease=lease if before else None
                ) from error
        return lab

    @classmethod
    def attach(cls, name: str | None = None) -> Lab:
        """A lab that is already up: the named one, or the only one."""
        if name is None:
            known = leases.names()
            if len(known) != 1:
                raise BadInput(
                    "no lab is up" if not known else f"several labs are up: {', '.join(known)}",
                    'start one: "lab up basic-mirror"' if not known else "choose one with --name",
                )
            name = known[0]
        lease = settings.lease_of(name)
        ports = leases.ports_of(lease)
        chosen = settings.started(topology.load(lease["LAB_TOPOLOGY"]), lease)
        lab = cls(name, chosen, lease["KAFKA_VERSION"], ports)
        if missing := {port.variable for port in chosen.ports} - ports.keys():
            raise BadInput(
                f'topology "{chosen.name}" was changed since lab "{name}" was started with it: '
                f"the lab has no {', '.join(sorted(missing))}",
                f'"{lab.up_again}" brings it into shape',
            )
        return lab

    def down(self) -> Removed:
        self.close()
        return ending.bring_down(self.name)

    @property
    def connectors(self) -> Connectors:
        from lab.connectors import Connectors

        return Connectors(self.topology, self.connect, self.cluster)

    def deploy(self, connector: Connector, *, wait: bool = True) -> Status:
        """PUT the connector and wait until it and all its tasks run, with what was changed."""
        self.topology.require_writable("deploying a connector")
        if not wait:
            self.connect.deploy(connector)
            return self.connect.status(connector.name)
        (plan,) = self.connectors.plans([connector])
        self.connect.deploy(connector)
        return self.connectors.wait(connector, changed=plan.changed)

    def verify(
        self,
        topic: str,
        *,
        source: str | None = None,
        target: str | None = None,
        only: Collection[str] | None = None,
        allow_duplicates: bool = False,
        timeout_s: float = RECORDS_ARRIVE_S,
        say: Callable[[str], None] = lambda _: None,
    ) -> Judged:
        """Judge what MM2 did with a topic; the verdicts are saved in the lab's run, if it has one.

        Whatever fails meanwhile raises NotEnough: nothing was judged.
        `source` and `target` name the clusters where topics of that name are mirrored from several, or to.
        """
        from lab.spark import translated
        from lab.verify import report  # what is imported here loads Spark's client: `up` need not wait for it
        from lab.verify.verification import verify

        doing = f'verifying "{topic}"'
        breaking.require_whole(self.name, doing)
        with no_verdict_if_it_fails(doing, self.run), translated(doing):
            flow = self.flow(topic, source=source, target=target)
            self.flows.require_reach(flow)
            judged = verify(
                self.spark, flow, only=only, allow_duplicates=allow_duplicates, timeout_s=timeout_s, say=say
            )
            if self.run is not None:
                facts = self.flows.facts(flow, self.run)
                spans = breaking.spans(self.name, judged.series)
                found = {key: value for key, value in asdict(judged).items() if key != "saved"}
                judged.saved = self.run.save_another("verdict.json", {**facts, **found, "faults": spans})
                try:
                    report.write(judged.saved)
                except BadInput as error:  # a mistake of ours: the user did not write the file
                    raise NotEnough(error.message, f"the verdict itself is in {judged.saved}") from error
        return judged

    @contextmanager
    def inject(self, fault: Fault, *, limit_s: float = FAULT_LIMIT_S) -> Iterator[Injected]:
        """Break it for as long as the block: proved at its begin and end, undone and that proved."""
        run = self.run or Run.open(f"fault-{self.name}", topology=self.topology.name)
        with breaking.injected(self, fault, limit_s=limit_s, run=run) as injected:
            yield injected

    def flow(self, topic: str, *, source: str | None = None, target: str | None = None) -> Flow:
        """How a topic is mirrored by what is deployed."""
        return self.flows.of(topic, source=source, target=target)

    @cached_property
    def flows(self) -> Flows:
        return Flows(self)

    def shell(self, service: str, command: str, *, stdin: str = "") -> str:
        """Run a shell command in a service's container, as `lab exec SERVICE bash -c …` does."""
        return self.project.run_in(service, ["bash", "-c", command], stdin=stdin)

    @contextmanager
    def shell_in_background(self, service: str, command: str) -> Iterator[None]:
        """Keep a shell command running in a service's container for a while."""
        mark = f"lab-{uuid.uuid4().hex[:12]}"
        # a session of its own, so that the whole pipeline can be ended by its group
        self.project.start_in(service, ["setsid", "bash", "-c", f"echo $$ >/tmp/{mark}; {command}"])
        try:
            yield
        finally:
            # Until it has ended, or is a zombie, which nobody in the container takes away.
            alive = "pgrep --pgroup $group --runstates D,R,S,T >/dev/null"
            gone = f"for _ in {{1..300}}; do {alive} || break; sleep 0.1; done"
            self.shell(service, f"group=$(</tmp/{mark}); kill -- -$group; {gone}; rm /tmp/{mark}")
