"""What a lab was started with, kept in its lease: topology, version, profiles, whether it has containers."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from lab import leases, mm2_dedicated, monitoring, security, topology
from lab.errors import BadInput, nearest
from lab.exporter.settings import interval
from lab.project import existing_spark
from lab.setup import engine_address
from lab.topology import Topology

# The first is Compose's own, the second says that there is nothing for the engine to do.
_PROFILES: Final = "COMPOSE_PROFILES"
_CONTAINERS: Final = "LAB_CONTAINERS"
_NONE: Final = "none"
# Where clusters keep what they hold. To be raised whenever a volume, a path in one or a CLUSTER_ID changes:
# `up` would else make a running lab's brokers anew without their records.
_LAYOUT: Final = "LAB_LAYOUT"
_OF_NOW: Final = "2"
_ENGINE: Final = "LAB_ENGINE"  # whose containers they are

# With anything else a service would end, or Compose would refuse it halfway: by how a variable's name ends.
_TAKES: Final = {
    "_MEMORY": (r"[1-9]\d*g|([6-9]|[1-9]\d+)m", "amount of memory", "4g"),
    "_MS": (r"\d{1,9}", "number of milliseconds", "5000"),
    "_EXACTLY_ONCE": (r"disabled|preparing|enabled", "value of exactly.once.source.support", "enabled"),
}


def lease_of(name: str) -> dict[str, str]:
    """The lease of a lab that must be there."""
    lease = leases.leased(leases.check_name(name))
    if lease is None:
        raise BadInput(f'no lab named "{name}" is up', nearest(name, leases.names()))
    require_its_engine(name)
    return lease


def is_of_this_engine(lease: Mapping[str, str]) -> bool:
    if without_containers(lease) or _ENGINE not in lease:
        return True
    return engine_address() in (None, lease[_ENGINE])


def require_its_engine(name: str) -> None:
    """Another engine knows nothing of a lab, and would be taken at its word that nothing is there."""
    lease = leases.leased(name) or {}
    if not is_of_this_engine(lease):
        there = lease[_ENGINE]
        raise BadInput(
            f'lab "{name}" is on the Docker engine at {there}, and this one is at {engine_address()}',
            f'choose that one with DOCKER_HOST or "docker context use"; if it is no more: '
            f'"lab down --name {name} --forget"',
        )


def version_of(name: str) -> str | None:
    """The version of Kafka that a lab has, if there is one of that name."""
    return (leases.leased(name) or {}).get("KAFKA_VERSION")


def require_same(name: str, chosen: Topology, version: str) -> None:
    """A name means one topology and one version, for as long as a lab has it."""
    lease = leases.leased(name)
    if lease is None:
        return
    require_its_engine(name)
    if lease.get(_LAYOUT) != _OF_NOW and not without_containers(lease):
        raise BadInput(
            f'lab "{name}" was started by another version of this project, which kept records elsewhere',
            f'"lab down --name {name}" first, or choose another --name',
        )
    there = (lease["LAB_TOPOLOGY"], lease["KAFKA_VERSION"])
    if there != (chosen.reference, version):
        raise BadInput(
            f'lab "{name}" is there already, with topology "{there[0]}" and Kafka {there[1]}',
            f'"lab down --name {name}" first, or choose another --name',
        )


def wanted(name: str, chosen: Topology, version: str, profiles: Sequence[str]) -> dict[str, str]:
    """What Compose and later commands must know of a lab; profiles that were started once stay."""
    before = leases.leased(name) or {_CONTAINERS: _NONE}  # of a new lab there are none yet
    settings = {"LAB_TOPOLOGY": chosen.reference, "LAB_NAME": name, "KAFKA_VERSION": version}
    settings[_LAYOUT] = _OF_NOW
    if engine := engine_address():
        settings[_ENGINE] = engine
    settings |= monitoring.settings(name) | security.settings(name)
    if all_profiles := sorted({*_profiles(before), *profiles}):
        settings[_PROFILES] = ",".join(all_profiles)
    none_needed = existing_spark() or not chosen.services
    if chosen.roles.external and none_needed and without_containers(before):
        settings[_CONTAINERS] = _NONE
    return settings


def variables(name: str, chosen: Topology, asked: Mapping[str, str]) -> dict[str, str]:
    """The topology's variables that are not left at their defaults; what was set once stays."""
    for variable, value in asked.items():
        if variable not in chosen.variables:
            raise BadInput(
                f'topology "{chosen.name}" has no variable "{variable}"',
                nearest(variable, sorted(chosen.variables)),
            )
        for ending, (pattern, what, example) in _TAKES.items():
            if variable.endswith(ending) and not re.fullmatch(pattern, value):
                raise BadInput(f'{variable}="{value}" is no {what}', f"e.g. {variable}={example}")
        if variable.endswith("_INTERVAL_S"):
            interval(variable, value)
    if topology.MM2_PROPERTIES in asked:
        asked = {**asked, topology.MM2_PROPERTIES: str(_properties_file(chosen, asked))}
    before = {key: value for key, value in (leases.leased(name) or {}).items() if key in chosen.variables}
    values = {**before, **asked}
    if chosen.mirror_makers:  # the file is read, and judged, before anything starts with it
        values[topology.MM2_DIGEST] = mm2_dedicated.digest(chosen.mm2_properties(values))
    return values


def _properties_file(chosen: Topology, asked: Mapping[str, str]) -> Path:
    """As the user sees it, or one of the topology's."""
    given = Path(asked[topology.MM2_PROPERTIES])
    return given.resolve() if given.is_file() else chosen.mm2_properties(asked)


def started(chosen: Topology, settings: Mapping[str, str]) -> Topology:
    """The topology with just the services that a lab of these settings has."""
    if without_containers(settings):
        return chosen.without_services()
    for profile in _profiles(settings):
        chosen = chosen.with_profile(profile)
    return chosen


def without_containers(settings: Mapping[str, str]) -> bool:
    return settings.get(_CONTAINERS) == _NONE


def without_profile(lease: Mapping[str, str], profile: str) -> dict[str, str]:
    """The settings of a lease when a profile of it is no more."""
    ports = leases.ports_of(lease)
    settings = {key: value for key, value in lease.items() if key not in ports}
    left = [p for p in _profiles(settings) if p != profile]
    settings.pop(_PROFILES, None)
    return settings | ({_PROFILES: ",".join(left)} if left else {})


def _profiles(settings: Mapping[str, str]) -> list[str]:
    return [p for p in settings.get(_PROFILES, "").split(",") if p]
