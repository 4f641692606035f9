"""What a diagnosis looks at, gathered from a running lab, or read from what a run saved of one.

Each part on its own and all at once: what does not answer is what one wants to know of, and costs the rest
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from lab import client_properties, engine, mm2_dedicated
from lab.diagnose.log import entries, moment
from lab.diagnose.observation import Cluster, Deployed, Observation, Service, Topic
from lab.errors import BadInput, LabError
from lab.harness.parts import Parts
from lab.mm2 import Connector
from lab.mm2_keys import is_secret

SAVED: Final = "observation.json"
HIDDEN: Final = "[hidden]"
_OF_WORKERS: Final = ("header.converter", "offset.flush.interval.ms")  # that rules look at
_KAFKA: Final = "mirror-lab/kafka:"  # the images whose command names a role
_ANSWERS_S: Final = 4.0
_NEVER: Final = "0001-01-01T00:00:00Z"
_MODEL: Final = TypeAdapter(Observation)


def observe(lab: Parts) -> Observation:
    """Everything that can be had of a running lab within seconds."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        services = pool.submit(_services, lab)
        return replace(without_containers(lab), services=services.result())


def without_containers(lab: Parts) -> Observation:
    """What Connect and the clusters say; states and logs are elsewhere in a run's evidence."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        clusters = [pool.submit(_cluster, lab, alias) for alias in lab.topology.roles.clusters]
        deployed = pool.submit(_deployed, lab)
        return Observation(
            up=lab.up_again,
            variables=frozenset(lab.topology.variables),
            clusters={found.alias: found for found in (cluster.result() for cluster in clusters)},
            deployed=deployed.result(),
            properties=_properties(lab),
        )


# -- of a lab that is up ------------------------------------------------------------------------------


def _services(lab: Parts) -> tuple[Service, ...]:
    boxes = lab.containers()
    told = {box["Id"]: box for box in engine.inspect([box.id for box in boxes])}
    with ThreadPoolExecutor(max_workers=4) as pool:
        logs = pool.map(lambda box: engine.logs(box.id), boxes)
    return tuple(_service(told[box.id], log) for box, log in zip(boxes, logs, strict=True))


def _cluster(lab: Parts, alias: str) -> Cluster:
    try:
        cluster = lab.cluster(alias)
        layout = cluster.layout()
        answering = len(cluster.brokers())
    except LabError as error:
        return Cluster(alias=alias, error=error.message)
    return Cluster(
        alias=alias,
        brokers=max(answering, len(lab.topology.roles.clusters[alias])),
        topics={
            name: Topic(partitions=t.partitions, replicas=t.replicas, leaderless=t.leaderless)
            for name, t in layout.items()
        },
        groups=_groups(lab, alias),
    )


def _groups(lab: Parts, alias: str) -> Mapping[str, str]:
    """All brokers must tell theirs; with one that is down there is no list."""
    try:
        return lab.cluster(alias).group_states(timeout_s=_ANSWERS_S)
    except LabError:
        return {}


def _deployed(lab: Parts) -> tuple[Deployed, ...]:
    known = {key: value for key in _OF_WORKERS if (value := lab.worker_setting(key))}
    setting = None if lab.topology.roles.connect_url else known
    if lab.topology.has_connect:
        return _on_workers(lab, setting)
    try:
        properties = _properties(lab)
        return _of_dedicated(lab, properties) if properties else ()
    except LabError:
        return ()


def _on_workers(lab: Parts, setting: Mapping[str, str] | None) -> tuple[Deployed, ...]:
    """Of the first worker that answers soon; one that hangs is not waited for as long as others would."""
    from lab.connect import Connect

    external = [url] if (url := lab.topology.roles.connect_url) else []
    for url in external or [f"http://{lab.address(worker)}" for worker in lab.topology.workers]:
        worker = Connect(url, timeout_s=_ANSWERS_S)
        try:
            found = worker.deployed()
        except LabError:
            continue
        finally:
            worker.close()
        return tuple(
            Deployed(connector=Connector(name=name, config=one.config), status=one.status, setting=setting)
            for name, one in found.items()
        )
    return ()


def _of_dedicated(lab: Parts, properties: Mapping[str, str]) -> tuple[Deployed, ...]:
    connectors = mm2_dedicated.connectors(properties)
    try:
        statuses = {status.name: status for status in lab.dedicated_of(properties).statuses()}
    except LabError:  # its target, which has them, does not answer
        statuses = {}
    return tuple(Deployed(connector=c, status=statuses.get(c.name)) for c in connectors)


def _properties(lab: Parts) -> dict[str, str]:
    """As they are in the file now; one that MM2 would not take is what a diagnosis is for."""
    if not lab.topology.mirror_makers:
        return {}
    with suppress(OSError, UnicodeDecodeError):
        return client_properties.parse(lab.mm2_file().read_text())
    return {}


# -- containers, live and saved -----------------------------------------------------------------------


def _service(told: Mapping[str, Any], log: str) -> Service:
    """From what the engine says of a container; its log from its last start on."""
    state = told["State"]
    started, ended = _moment(state["StartedAt"]), _moment(state["FinishedAt"])
    until = ended if state["Status"] in ("exited", "dead") else datetime.now(UTC)
    command = told["Config"].get("Cmd") if _KAFKA in told["Config"]["Image"] else None
    return Service(
        name=told["Config"]["Labels"].get(engine.SERVICE_LABEL, told["Name"].lstrip("/")),
        kind=command[0] if command else "other",
        state=state["Status"],
        exit_code=state["ExitCode"],
        oom_killed=state["OOMKilled"],
        memory_bytes=told["HostConfig"]["Memory"],
        until=until,
        entries=tuple(
            entry
            for entry in entries(log.splitlines())
            if started is None or entry.at is None or entry.at >= started
        ),
    )


def _moment(text: str) -> datetime | None:
    return None if text == _NEVER else moment(text)


# -- runs ---------------------------------------------------------------------------------------------


def saved(seen: Observation) -> dict[str, Any]:
    """For a run's folder, beside the logs and what the engine told; without anybody's secrets."""
    plain: dict[str, Any] = _MODEL.dump_python(
        replace(seen, properties=_shown(seen.properties)), mode="json", exclude={"services"}
    )
    for one in plain["deployed"]:
        one["connector"]["config"] = _shown(one["connector"]["config"])
    return plain


def _shown(config: Mapping[str, str]) -> dict[str, str]:
    return {k: HIDDEN if is_secret(k) and not v.startswith("${") else v for k, v in config.items()}


def read_run(folder: Path) -> Observation:
    """What a run saved of its lab; of a run that failed early there is less."""
    try:
        told = json.loads((folder / "containers.json").read_text())
        text = (folder / SAVED).read_text() if (folder / SAVED).is_file() else "{}"
        rest = _MODEL.validate_json(text)
    except (OSError, ValueError, ValidationError) as error:
        raise BadInput(
            f"{folder.name} holds nothing to diagnose", "runs that went well save no logs and no states"
        ) from error
    services = [_service(box, _log(folder, box)) for box in told]
    said = [entry.at for service in services for entry in service.entries if entry.at is not None]
    now = max(said, default=None)  # it was saved right after the last that anybody said
    return replace(rest, services=tuple(replace(s, until=now) if s.runs else s for s in services))


def _log(folder: Path, box: Mapping[str, Any]) -> str:
    path = folder / "logs" / f"{box['Config']['Labels'].get(engine.SERVICE_LABEL, '')}.log"
    return path.read_text(errors="replace") if path.is_file() else ""


def read_logs(paths: Sequence[Path]) -> Observation:
    """Log files of an MM2 that runs elsewhere."""
    services = []
    for path in paths:
        try:
            lines = path.read_text(errors="replace").splitlines()
        except OSError as error:
            raise BadInput(f"{path}: {error.strerror}", "name a log of MM2 or of a Connect worker") from error
        services.append(Service(name=path.name, kind="connect", entries=tuple(entries(lines))))
    return Observation(services=tuple(services))
