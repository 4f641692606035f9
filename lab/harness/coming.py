"""A lab comes up: its images are there, its services are healthy, and what runs answers from outside."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from lab import engine, images, security
from lab.engine import Container, EngineError
from lab.harness.parts import Parts
from lab.images import Image
from lab.run import Run, Watcher
from lab.setup import require_engine
from lab.topology import Topology
from lab.wait import SERVICES_HEALTHY_S, NotYet, wait_until


def ensure_images(run: Run, version: str, chosen: Topology | None = None) -> list[Image]:
    """Build what is missing or out of date of a topology's images, or of all."""
    stale = images.missing(version, chosen)
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
        built = ensure_images(run, version)
    except EngineError as error:
        run.save("engine.log", error.output)
        run.close(f"failed: {error}")
        raise EngineError(error.message, f"all that the engine said is in {run.path}/engine.log") from error
    run.close("built")
    return built


def start(lab: Parts, run: Run, timeout_s: float) -> None:
    """Create and start the services, and wait until all of them are healthy."""
    total = len(lab.topology.services)
    if not total:
        return
    with run.step(f"start {total} services") as step:
        told: dict[str, set[str]] = {"Started": set(), "Running": set(), "Healthy": set()}

        def on_line(line: str) -> None:
            parts = line.split()
            if len(parts) >= 3 and parts[0] == "Container" and parts[2] in told:
                service = parts[1].removeprefix(f"{lab.project.name}-").rpartition("-")[0]
                told[parts[2]].add(service)
                step.say(f"{len(told['Running'] | told['Healthy'])} of {total} ready")

        def look() -> None:
            """There are Composes that tell what has ended only when all else is healthy, or has ended too."""
            began = told["Started"] | told["Running"]
            try:
                boxes = [box for box in lab.containers() if box.service in began and box.ended]
            except EngineError:  # Compose is who needs its answer
                return
            if boxes:
                raise not_ready(boxes)

        with ThreadPoolExecutor(max_workers=1) as meanwhile:
            clients = meanwhile.submit(lab.make_clients)
            lab.project.up(timeout_s=timeout_s, on_line=on_line, look=look)
            clients.result()
        if not lab.topology.roles.external:
            step.note = f"Kafka {lab.kafka_version}"


def restart_with_new_certificates(lab: Parts, run: Run, timeout_s: float) -> None:
    """Brokers read them when they start: those that run with an older one are restarted, one by one."""
    if not lab.topology.secured:
        return
    ids = [box.id for box in lab.containers() if box.service in lab.topology.secured]
    for box in engine.inspect(ids):
        service = box["Config"]["Labels"][engine.SERVICE_LABEL]
        if engine.started_at(box).timestamp() < security.certified_at(lab.name, service):
            with run.step(f"restart {service}, its certificate was renewed"):
                lab.project.stop(service)
                lab.project.start(service, timeout_s=timeout_s)


def wait_until_answers(lab: Parts, run: Run) -> None:
    """Healthy is what a container says of itself; here the clients ask from outside."""
    makers = lab.topology.mirror_makers
    beside = " and MirrorMaker" if makers else " and Connect" if lab.topology.has_connect else ""
    with run.step(f"clusters{beside} answer"):
        for alias, brokers in lab.topology.roles.clusters.items():
            if alias in lab.topology.roles.external:
                lab.cluster(alias).brokers()  # nothing was started: what runs answers now
            else:
                lab.cluster(alias).wait_until_answers(len(brokers))
        if lab.topology.roles.connect_url:
            lab.connect.names()
        for worker in lab.topology.workers:
            lab.worker(worker).wait_until_answers()
        if makers:
            _wait_until_mirror_maker_says_so(lab)


def _wait_until_mirror_maker_says_so(lab: Parts) -> None:
    """It answers nobody; what its workers write of its connectors stands in its own topics.

    There it stays when they are killed: what was written before any of those that run now has begun is old.
    """
    from lab.kafka import ClusterError

    wanted = {connector.name for connector in lab.deployed()}
    nodes = [box.id for box in lab.containers() if box.service in lab.topology.mirror_makers]
    since_ms = int(min(map(engine.started_at, engine.inspect(nodes))).timestamp() * 1000)

    def observe() -> bool | NotYet:
        require_ready(lab)
        statuses = lab.dedicated.statuses(since_ms=since_ms)
        running = {status.name for status in statuses if status.state == "RUNNING"}
        missing = sorted(wanted - running)
        return NotYet(f"not running: {', '.join(missing)}") if missing else True

    wait_until(
        observe,
        timeout_s=SERVICES_HEALTHY_S,
        what="MirrorMaker starts its connectors",
        transient=(ClusterError,),
        hint=f'"lab logs {lab.topology.mirror_makers[0]} --name {lab.name}" tells why',
        pause_s=0.5,
    )


def require_ready(lab: Parts) -> None:
    """Compose asks a service without a health check once, which may be a moment before it ends."""
    boxes = [box for box in lab.containers() if box.service in lab.topology.services and not box.ready]
    if boxes:
        raise not_ready(boxes)


def not_ready(boxes: Sequence[Container]) -> EngineError:
    told = [f"{box.service} {'ended' if box.ended else f'is {box.health or box.state}'}" for box in boxes]
    return EngineError(f"{', '.join(told)}, see {', '.join(f'logs/{box.service}.log' for box in boxes)}")
