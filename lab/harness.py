"""Lab: a running topology, the one object that a scenario holds. `up` reads as the list of its steps.

What needs Spark's client is imported where it is used: loading it takes half a second, which `up` and
most other commands need not pay.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from packaging.version import Version

from lab import engine, images, leases, report, topology
from lab.connect import Connect, ConnectError, Status
from lab.engine import Container, EngineError, Project, Removed
from lab.errors import BadInput, HostNotReady, Interrupted, LabError, nearest
from lab.external import ReadOnlyCluster, ReadOnlyConnect
from lab.images import Image
from lab.interruption import uninterruptible
from lab.kafka import Cluster, ClusterError
from lab.mm2 import CHECKPOINT, SOURCE, Connector, read_connector
from lab.project import existing_spark, kafka_version
from lab.run import Run, Watcher
from lab.setup import require_engine, require_memory
from lab.topology import Topology
from lab.wait import RECORDS_ARRIVE_S, SERVICES_HEALTHY_S

if TYPE_CHECKING:
    from lab.flow import Flow
    from lab.spark import SparkSession
    from lab.verification import Judged

PROJECT_PREFIX: Final = "lab-"
KAFKA_4: Final = Version("4")
OFFSETS_CAN_BE_RESET: Final = Version("3.6")
_SPARK: Final = ("spark", "spark-connect")
# Of a lab's lease: the first is Compose's own, the second says that there is nothing for the engine to do.
_PROFILES, _CONTAINERS, _NONE = "COMPOSE_PROFILES", "LAB_CONTAINERS", "none"


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


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    service: str
    what: str
    address: str


@dataclass
class Lab:
    name: str
    topology: Topology
    kafka_version: str
    ports: Mapping[str, int]
    run: Run | None = None

    # -- coming and going ------------------------------------------------------------------------

    @classmethod
    def up(cls, wish: Wish, watcher: Watcher | None = None) -> Lab:
        """Start the lab, or make a running or half-started one what it should be."""
        chosen = topology.load(wish.topology)
        version = kafka_version(wish.kafka)
        chosen.check_kafka_version(version)
        name = leases.check_name(wish.name or chosen.name)
        _same_lab(name, chosen, version)
        for path in chosen.connector_files().values():
            read_connector(path)
        settings = _settings(name, chosen, version, wish.profiles)
        chosen = _started(chosen, settings)
        asked = leases.asked_ports(list(wish.ports), chosen, name)
        if chosen.services:
            require_engine()

        with leases.exclusive(name):
            before = engine.containers(PROJECT_PREFIX + name) if chosen.services else []
            ran = len(before) == len(chosen.services) and all(box.ready for box in before)
            if not before:
                require_memory(chosen.memory_bytes)
            run = Run.open(f"up-{name}", watcher, topology=chosen.name, kafka=version)
            lab: Lab | None = None
            try:
                if chosen.services:
                    _ensure_images(run, version, chosen)
                lab = cls(name, chosen, version, leases.lease(name, chosen, settings, asked), run)
                lab._start(run, wish.timeout_s)
                lab._answers(run)
            except BaseException as error:
                raise _abandon(name, lab, run, error, keep=wish.keep or ran) from error
            run.close("up", ports=dict(lab.ports))
        return lab

    @classmethod
    def attach(cls, name: str | None = None) -> Lab:
        """A lab that is already up: the named one, or the only one."""
        known = leases.names()
        if name is None:
            if len(known) != 1:
                raise BadInput(
                    "no lab is up" if not known else f"several labs are up: {', '.join(known)}",
                    'start one: "lab up basic-mirror"' if not known else "choose one with --name",
                )
            name = known[0]
        lease = leases.leased(leases.check_name(name))
        if lease is None:
            raise BadInput(f'no lab named "{name}" is up', nearest(name, known))
        ports = {key: int(value) for key, value in lease.items() if key.endswith("_PORT")}
        chosen = _started(topology.load(lease["LAB_TOPOLOGY"]), lease)
        return cls(name, chosen, lease["KAFKA_VERSION"], ports)

    def down(self) -> Removed:
        self.close()
        return bring_down(self.name)

    def close(self) -> None:
        """Close the connections to what runs, and leave it running."""
        for worker in self._workers.values():
            worker.close()
        if "spark" in self.__dict__:
            self.spark.stop()

    def _start(self, run: Run, timeout_s: float) -> None:
        total = len(self.topology.services)
        if not total:
            return
        with run.step(f"start {total} services") as step:
            ready: set[str] = set()

            def on_line(line: str) -> None:
                parts = line.split()
                if (
                    len(parts) >= 3
                    and parts[0] == "Container"
                    and parts[2] in ("Healthy", "Started", "Running")
                ):
                    ready.add(f"{parts[1]}:{parts[2]}")
                    healthy = sum(1 for r in ready if r.endswith((":Healthy", ":Running")))
                    step.say(f"{healthy} of {total} ready")

            self.project.up(timeout_s=timeout_s, on_line=on_line)
            if not self.topology.roles.external:
                step.note = f"Kafka {self.kafka_version}"

    def _answers(self, run: Run) -> None:
        """Healthy is what a container says of itself; here the clients ask from outside."""
        with run.step("clusters and Connect answer"):
            for alias, brokers in self.topology.roles.clusters.items():
                if alias in self.topology.roles.external:
                    self.cluster(alias).brokers()  # nothing was started: what runs answers now
                else:
                    self.cluster(alias).wait_until_answers(len(brokers))
            if self.topology.roles.connect_url:
                self.connect.names()
            for worker in self.topology.roles.connect:
                self._worker(worker).wait_until_answers()

    # -- parts -----------------------------------------------------------------------------------

    @cached_property
    def project(self) -> Project:
        return Project(PROJECT_PREFIX + self.name, self.topology.compose_file, leases.env_file(self.name))

    def cluster(self, alias: str) -> Cluster:
        if alias not in self.topology.roles.clusters:
            raise BadInput(
                f'topology "{self.topology.name}" has no cluster "{alias}"',
                nearest(alias, list(self.topology.roles.clusters)),
            )
        if alias not in self._clusters:
            bootstrap = self.topology.bootstrap(alias, listener="EXTERNAL", ports=self.ports)
            self._clusters[alias] = (
                ReadOnlyCluster(self.topology, alias)
                if self.topology.roles.read_only
                else Cluster(alias, bootstrap, self.topology.client(alias).librdkafka)
            )
        return self._clusters[alias]

    @cached_property
    def _clusters(self) -> dict[str, Cluster]:
        return {}

    @property
    def source(self) -> Cluster:
        return self.cluster("source")

    @property
    def target(self) -> Cluster:
        return self.cluster("target")

    @property
    def connect(self) -> Connect:
        if url := self.topology.roles.connect_url:
            if url not in self._workers:
                read_only = self.topology.roles.read_only
                self._workers[url] = ReadOnlyConnect(self.topology) if read_only else Connect(url)
            return self._workers[url]
        if not self.topology.roles.connect:
            raise BadInput(f'topology "{self.topology.name}" has no Connect worker', 'see "lab list"')
        return self._worker(self.topology.roles.connect[0])

    def _worker(self, service: str) -> Connect:
        if service not in self._workers:
            self._workers[service] = Connect(f"http://{self.address(service)}")
        return self._workers[service]

    @cached_property
    def _workers(self) -> dict[str, Connect]:
        return {}

    @cached_property
    def spark(self) -> SparkSession:
        from lab.spark import session

        return session("" if existing_spark() else self.address("spark"))

    def require_service(self, service: str) -> None:
        if service not in self.topology.services:
            raise BadInput(
                f'lab "{self.name}" has no service "{service}"',
                nearest(service, list(self.topology.services)),
            )

    def address(self, service: str) -> str:
        """Where a service's first published port answers on this host."""
        self.require_service(service)
        for port in self.topology.services[service].ports:
            return f"127.0.0.1:{self.ports[port.variable]}"
        raise BadInput(f'service "{service}" publishes no port', '"lab exec" reaches it')

    def internal_bootstrap(self, alias: str) -> str:
        """A cluster's address for what runs in the lab's network: Connect, Spark, the tools."""
        return self.topology.bootstrap(alias, listener="INTERNAL", ports=self.ports)

    def endpoints(self) -> list[Endpoint]:
        roles = self.topology.roles
        what = {broker: f"cluster {alias}" for alias, brokers in roles.clusters.items() for broker in brokers}
        what |= dict.fromkeys(roles.connect, "Connect REST") | dict.fromkeys(_SPARK, "Spark Connect")
        scheme = dict.fromkeys(roles.connect, "http://") | dict.fromkeys(_SPARK, "sc://")
        elsewhere = [
            Endpoint(service=alias, what=f"cluster {alias}", address=external.bootstrap)
            for alias, external in roles.external.items()
        ]
        if roles.connect_url:
            elsewhere.append(Endpoint(service="connect", what="Connect REST", address=roles.connect_url))
        return elsewhere + [
            Endpoint(
                service=port.service,
                what=what.get(port.service, "ZooKeeper"),
                address=f"{scheme.get(port.service, '')}127.0.0.1:{self.ports[port.variable]}",
            )
            for port in self.topology.ports
        ]

    def containers(self) -> list[Container]:
        return engine.containers(self.project.name) if self.topology.services else []

    # -- commands in containers --------------------------------------------------------------------

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
            self.shell(service, f"kill -- -$(</tmp/{mark}); rm /tmp/{mark}")

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Afterwards remove the connectors, with their offsets, and the topics that were added meanwhile."""
        if not self.topology.roles.clusters:
            yield
            return
        connectors = set(self.connect.names())
        clusters = [self.cluster(alias) for alias in self.topology.roles.clusters]
        topics = {cluster.alias: set(cluster.topic_names()) for cluster in clusters}
        try:
            yield
        finally:
            for name in set(self.connect.names()) - connectors:
                self._forget(name)
            for cluster in clusters:
                for topic in set(cluster.topic_names()) - topics[cluster.alias]:
                    if not topic.startswith("__"):
                        cluster.delete_topic(topic)

    def _forget(self, connector: str) -> None:
        if Version(self.kafka_version) >= OFFSETS_CAN_BE_RESET:
            self.connect.forget(connector)
        else:  # the name's offsets stay, so no later scenario may use it for a topic of the same name
            self.connect.delete(connector)

    # -- connectors ------------------------------------------------------------------------------

    def connector(self, name: str, **overrides: str | None) -> Connector:
        """A connector file of the topology, with some keys changed; None takes a key away.

        Keys with dots are passed as `**{"offset.lag.max": "0"}`.
        """
        files = self.topology.connector_files()
        if name not in files:
            raise BadInput(
                f'topology "{self.topology.name}" has no connector "{name}"', nearest(name, list(files))
            )
        return read_connector(files[name]).with_overrides(overrides)

    def mirroring(self, topic: str) -> Connector:
        """The deployed connector that mirrors a topic."""
        mirroring = [c for c in self._deployed() if c.connector_class == SOURCE and c.selects(topic)]
        if not mirroring:
            raise BadInput(f'no deployed connector mirrors topic "{topic}"', '"lab mm2 deploy" deploys one')
        return mirroring[0]

    def _deployed(self) -> list[Connector]:
        if self.topology.has_connect:
            return [Connector(name=name, config=self.connect.config(name)) for name in self.connect.names()]
        # a dedicated MM2, say: the topology's files tell what it does
        return [read_connector(path) for path in self.topology.connector_files().values()]

    def verify(
        self,
        topic: str,
        *,
        only: Collection[str] | None = None,
        allow_duplicates: bool = False,
        timeout_s: float = RECORDS_ARRIVE_S,
        say: Callable[[str], None] = lambda _: None,
    ) -> Judged:
        """Judge what MM2 did with a topic; the verdicts are saved in the lab's run, if it has one."""
        from lab.verification import verify

        flow = self.flow(topic)
        self._require_reach(flow)
        judged = verify(
            self.spark, flow, only=only, allow_duplicates=allow_duplicates, timeout_s=timeout_s, say=say
        )
        if self.run is not None:
            path = self.run.save("verdict.json", {**self._facts(flow), **asdict(judged)})
            report.write(path)
        return judged

    def flow(self, topic: str) -> Flow:
        """How a topic is mirrored by what is deployed."""
        from lab.flow import Flow

        connector = self.mirroring(topic)
        ends = (connector.source_alias, connector.target_alias)
        return Flow(
            topic=topic,
            connector=connector,
            checkpointer=next(
                (
                    c
                    for c in self._deployed()
                    if c.connector_class == CHECKPOINT and (c.source_alias, c.target_alias) == ends
                ),
                None,
            ),
            source=self.cluster(connector.source_alias),
            target=self.cluster(connector.target_alias),
            bootstraps={alias: self.internal_bootstrap(alias) for alias in ends},
            options={alias: self._spark_options(alias) for alias in ends},
            folder=self._spark_folder,
            kafka_4=Version(self._worker_version) >= KAFKA_4,
        )

    @property
    def _worker_version(self) -> str:
        return self.connect.version() if self.topology.has_connect else self.kafka_version

    def _spark_options(self, alias: str) -> dict[str, str]:
        return {f"kafka.{key}": value for key, value in self.topology.client(alias).java.items()}

    @cached_property
    def _spark_folder(self) -> str:
        """Where Spark keeps ledgers and evidence; on a cluster of the user's it is tried out first."""
        from lab import spark_cluster
        from lab.spark import SERVER_FOLDER

        if not existing_spark():
            return SERVER_FOLDER
        folder = spark_cluster.folder_at(self.spark, os.environ.get(spark_cluster.FOLDER_VARIABLE))
        spark_cluster.check_folder(self.spark, folder)
        return folder

    def _require_reach(self, flow: Flow) -> None:
        """Before a job of minutes starts; the lab's own Spark reaches the lab's own brokers."""
        from lab import spark_cluster

        if not existing_spark() and not self.topology.roles.external:
            return
        for cluster, topic in ((flow.source, flow.topic), (flow.target, flow.remote)):
            if cluster.has_topic(topic):
                bootstrap = self.internal_bootstrap(cluster.alias)
                external = cluster.alias in self.topology.roles.external
                asked = spark_cluster.Asked(
                    alias=cluster.alias,
                    topic=topic,
                    bootstrap=bootstrap,
                    advertised=tuple(cluster.brokers() if external else bootstrap.split(",")),
                    offsets=cluster.offsets(topic),
                    options=self._spark_options(cluster.alias),
                )
                spark_cluster.check_reach(self.spark, asked)

    def _facts(self, flow: Flow) -> dict[str, str]:
        assert self.run is not None  # noqa: S101 - for the type checker: only asked for a run
        return {
            "lab": self.name,
            "topology": self.topology.name,
            "kafka": self.kafka_version,
            "commit": self.run.facts["commit"],
            "run": self.run.path.name,
            "topic": flow.topic,
            "remote": flow.remote,
            "source": flow.source.alias,
            "target": flow.target.alias,
        }

    def deploy(self, connector: Connector, *, wait: bool = True) -> Status:
        """PUT the connector and wait until it and all its tasks run."""
        self.topology.require_writable("deploying a connector")
        self.connect.deploy(connector)
        return self.connect.wait_until_runs(connector.name) if wait else self.connect.status(connector.name)


def bring_down(name: str) -> Removed:
    """Remove everything of a lab, in whatever state it is, and give its ports back."""
    leases.check_name(name)
    if (leases.leased(name) or {}).get(_CONTAINERS) == _NONE:
        leases.release(name)
        return Removed()
    require_engine()
    with leases.exclusive(name):
        return _remove(name)


def _remove(name: str) -> Removed:
    with uninterruptible():
        removed = engine.remove(PROJECT_PREFIX + name)
        leases.release(name)
    return removed


def prune() -> Removed:
    """Remove every labelled object of every lab, and every lease."""
    require_engine()
    with uninterruptible():
        removed = engine.remove()
        for name in leases.names():
            leases.release(name)
    return removed


def _same_lab(name: str, chosen: Topology, version: str) -> None:
    lease = leases.leased(name)
    if lease is None:
        return
    there = (lease["LAB_TOPOLOGY"], lease["KAFKA_VERSION"])
    if there != (chosen.reference, version):
        raise BadInput(
            f'lab "{name}" is there already, with topology "{there[0]}" and Kafka {there[1]}',
            f'"lab down --name {name}" first, or choose another --name',
        )


def _settings(name: str, chosen: Topology, version: str, profiles: Sequence[str]) -> dict[str, str]:
    """What Compose and later commands must know of a lab; profiles that were started once stay."""
    settings = {"LAB_TOPOLOGY": chosen.reference, "LAB_NAME": name, "KAFKA_VERSION": version}
    started = {p for p in (leases.leased(name) or {}).get(_PROFILES, "").split(",") if p}
    if wanted := sorted(started | set(profiles)):
        settings[_PROFILES] = ",".join(wanted)
    if chosen.roles.external and (existing_spark() or not chosen.services):
        settings[_CONTAINERS] = _NONE
    return settings


def _started(chosen: Topology, settings: Mapping[str, str]) -> Topology:
    """The topology with just the services that a lab of these settings has."""
    if settings.get(_CONTAINERS) == _NONE:
        return chosen.without_services()
    for profile in settings.get(_PROFILES, "").split(","):
        if profile:
            chosen = chosen.with_profile(profile)
    return chosen


def stop_profile(name: str, profile: str) -> None:
    """Remove a profile's containers from a running lab; its volumes go with the lab."""
    lab = Lab.attach(name)
    with leases.exclusive(name):
        lease = leases.leased(name) or {}
        left = [p for p in lease.get(_PROFILES, "").split(",") if p and p != profile]
        plain = topology.load(lease["LAB_TOPOLOGY"])
        of_it = plain.with_profile(profile).services.keys() - plain.services.keys()
        if boxes := [box.id for box in engine.containers(lab.project.name) if box.service in of_it]:
            engine.docker("rm", "--force", *boxes)
        settings = {key: value for key, value in lease.items() if not key.endswith("_PORT")}
        settings.pop(_PROFILES, None)
        settings |= {_PROFILES: ",".join(left)} if left else {}
        leases.lease(name, _started(plain, settings), settings, {})


def _ensure_images(run: Run, version: str, chosen: Topology | None = None) -> list[Image]:
    stale = [
        image
        for image in images.missing(version)
        if chosen is None or any(f"/{image.kind}:" in service.image for service in chosen.services.values())
    ]
    for image in stale:
        with run.step(f"build image {image.tag}") as step:
            images.build(image, step.say)
    return stale


def build_images(version: str, watcher: Watcher) -> list[Image]:
    """Build what is missing or out of date; what the engine said of a failed build is in the run."""
    require_engine()
    if not images.missing(version):
        return []
    run = Run.open("images", watcher, kafka=version)
    try:
        built = _ensure_images(run, version)
    except EngineError as error:
        run.save("engine.log", error.output)
        run.close(f"failed: {error}")
        raise EngineError(error.message, f"all that the engine said is in {run.path}/engine.log") from error
    run.close("built")
    return built


def _abandon(name: str, lab: Lab | None, run: Run, error: BaseException, *, keep: bool) -> BaseException:
    """Save what can tell why, remove what was started, and give the error that the user sees."""
    left = f'what is there of it was kept: "lab status --name {name}", "lab down --name {name}"'
    with uninterruptible():
        if isinstance(error, EngineError) and error.output:
            run.save("engine.log", error.output)
        if lab is not None:
            save_evidence(lab, run)
        if not keep:
            left = f'not all of it could be removed: "lab down --name {name}"'
            with _noting(run, "bring-down"), run.step("bring down"):
                _remove(name)
                left = "nothing is left of it"
    if isinstance(error, KeyboardInterrupt):
        run.close("interrupted")
        return Interrupted(f'starting lab "{name}" was interrupted', left)
    run.close(f"failed: {error}")
    if isinstance(error, LabError) and not isinstance(error, HostNotReady | BadInput):
        return type(error)(
            f'lab "{name}" did not come up: {error.message}', f"evidence is in {run.path}; {left}"
        )
    return error


def save_evidence(lab: Lab, run: Run) -> None:
    """Logs and state of every container, the Compose file as rendered, the connectors' status.

    Each piece on its own: what cannot be had is written down as such and does not hide the cause.
    """
    with run.step("save evidence"):
        with _noting(run, "containers.json"):
            boxes = engine.containers(lab.project.name)
            run.save("containers.json", engine.inspect([box.id for box in boxes]))
            for box in boxes:
                with _noting(run, f"logs/{box.service}.log"):
                    run.save(f"logs/{box.service}.log", engine.logs(box.id))
        with _noting(run, "compose.yaml"):
            run.save("compose.yaml", lab.project.rendered())
        if lab.topology.has_connect:
            with _noting(run, "connectors.json"):
                run.save("connectors.json", [str(status) for status in lab.connect.statuses()])


@contextmanager
def _noting(run: Run, name: str) -> Iterator[None]:
    try:
        yield
    except (EngineError, ConnectError, ClusterError) as error:
        run.save(f"{name}.missing", f"{error.message}\n")
