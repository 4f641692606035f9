"""A flow as it runs: connectors with what their workers add, by pair of clusters.

What is refused here could not be said in any form: two connectors of one kind between the same clusters, one
that writes elsewhere without saying so, a secret in plain text.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from lab.errors import LabError
from lab.export.meaning import CLASSES, CONVERTERS, DEFAULTS, says_again
from lab.mm2 import Connector
from lab.mm2_keys import is_secret

MM2_FILE: Final = "mm2.properties"
_REFERENCE: Final = re.compile(r"\$\{[^}]+\}")
_PLAIN_OPTION: Final = re.compile(r"(?:password|secret)\w*\s*=\s*[\"']?(?!\$\{)[^\"'\s;]", re.IGNORECASE)
# Where a client of the worker connects to, and how.
WHERE: Final = ("bootstrap.servers", "security.", "ssl.", "sasl.")
PRODUCER: Final = "producer.override."
Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Worker:
    """What a Connect worker adds to the connectors on it; converters are None where it is not known here."""

    bootstrap: str = ""
    converters: Mapping[str, str] | None = None  # with the keys below them
    settings: Mapping[str, str] = field(default_factory=dict)  # of its own topics


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Connectors that run, each as a worker sees it, and what matters of the workers."""

    connectors: tuple[Connector, ...]
    settings: Mapping[str, str] = field(default_factory=dict)  # of the workers' own topics
    nodes: int = 1
    file: str = MM2_FILE  # what its properties are called
    on_connect: bool = False  # else by a dedicated MM2
    told: tuple[str, ...] = ()

    @property
    def pairs(self) -> dict[Pair, dict[str, Connector]]:
        """What runs between two clusters, by class, in the order in which MM2 names them."""
        found: dict[Pair, dict[str, Connector]] = {}
        for connector in sorted(self.connectors, key=lambda c: CLASSES.index(c.connector_class)):
            pair = (connector.source_alias, connector.target_alias)
            found.setdefault(pair, {})[connector.connector_class] = connector
        return found

    @property
    def aliases(self) -> list[str]:
        """Of its clusters, sources before targets."""
        return list(dict.fromkeys([*(source for source, _ in self.pairs), *(t for _, t in self.pairs)]))

    @property
    def targets(self) -> list[str]:
        return list(dict.fromkeys(target for _, target in self.pairs))

    def into(self, target: str) -> "Flow":
        """What goes into one cluster."""
        return replace(self, connectors=tuple(c for c in self.connectors if c.target_alias == target))


@dataclass(frozen=True, kw_only=True)
class Export:
    """A flow in other forms, and what whoever takes it should know."""

    text: str
    told: tuple[str, ...] = ()
    secrets: Mapping[str, Sequence[str]] = field(default_factory=dict)  # names and keys that it refers to


def meet(some: str, others: str) -> bool:
    """Whether two lists of addresses have one in common."""
    return bool({a.strip() for a in some.split(",")} & {a.strip() for a in others.split(",")} - {""})


def flow_of(
    connectors: Sequence[Connector],
    *,
    worker: Worker | None = None,
    settings: Mapping[str, str] | None = None,
    nodes: int = 1,
    file: str = MM2_FILE,
    one_cluster: Callable[[str, str], bool] = meet,
) -> Flow:
    """Of connectors as they were deployed; a dedicated MM2 has no worker beside it that adds anything.

    `one_cluster` says whether two lists of addresses are of one cluster.
    """
    mm2s = [connector for connector in connectors if connector.connector_class in CLASSES]
    working = [connector for connector in mm2s if connector.switched_off_by is None]
    told = [f'"{c.name}" is no connector of MM2, and left out' for c in connectors if c not in mm2s]
    told += [f'"{c.name}" is switched off, and left out' for c in mm2s if c not in working]
    _refuse(working)
    if worker is not None:
        _refuse_astray(working, worker, one_cluster)
        working = [_as_run_by(worker, connector) for connector in working]
        told += _unknown(worker, working)
    working = [_without_what_holds_anyway(_writing_to_target(c, one_cluster)) for c in working]
    return Flow(
        connectors=tuple(working),
        settings=(worker.settings if worker is not None else settings) or {},
        nodes=nodes,
        file=file,
        on_connect=worker is not None,
        told=tuple(told),
    )


def _as_run_by(worker: Worker, connector: Connector) -> Connector:
    """With the converters that the worker uses for it, which MM2 by itself would not."""
    config = dict(connector.config)
    for key in CONVERTERS:
        if key not in config:
            config |= {k: v for k, v in (worker.converters or {}).items() if f"{k}.".startswith(f"{key}.")}
    return replace(connector, config=config)


def _unknown(worker: Worker, connectors: Sequence[Connector]) -> list[str]:
    lacking = [key for key in CONVERTERS if any(key not in connector.config for connector in connectors)]
    if worker.converters is not None or not lacking:
        return []
    return [f"{', '.join(lacking)}: the workers' own are not known here; the export has MM2's, for bytes"]


def _refuse_astray(
    connectors: Sequence[Connector], worker: Worker, one_cluster: Callable[[str, str], bool]
) -> None:
    for connector in connectors:
        wanted = connector.config.get("target.cluster.bootstrap.servers", "")
        redirected = f"{PRODUCER}bootstrap.servers" in connector.config
        if worker.bootstrap and not redirected and not one_cluster(worker.bootstrap, wanted):
            raise LabError(
                f'connector "{connector.name}" writes to its worker\'s cluster ({worker.bootstrap}), not to '
                f'its target "{connector.target_alias}" ({wanted}), where MM2 writes elsewhere',
                f'"lab mm2 validate" tells more; set "{PRODUCER}bootstrap.servers": "{wanted}"',
            )


def _writing_to_target(connector: Connector, one_cluster: Callable[[str, str], bool]) -> Connector:
    """Without the redirection to its target: there the workers of all other forms write anyway."""
    config, where = connector.config, tuple(PRODUCER + what for what in WHERE)
    mine = config.get(f"{PRODUCER}bootstrap.servers")
    if mine is None or not one_cluster(mine, config.get("target.cluster.bootstrap.servers", "")):
        return connector
    return replace(connector, config={k: v for k, v in config.items() if not k.startswith(where)})


def _without_what_holds_anyway(connector: Connector) -> Connector:
    """Workers of all other forms leave bytes as they are, and whatever is switched off is not here."""
    config = connector.config
    said = {k: v for k, v in config.items() if k not in CONVERTERS or v != DEFAULTS[k]}
    said.pop("enabled", None)
    return replace(connector, config={k: v for k, v in said.items() if not says_again(config, k)})


def _refuse(connectors: Sequence[Connector]) -> None:
    if not connectors:
        raise LabError("no connector of MM2 runs that could be exported", '"lab mm2 deploy" deploys them')
    seen: dict[tuple[str, str, str], str] = {}
    for connector in connectors:
        place = (connector.source_alias, connector.target_alias, connector.connector_class)
        if place in seen:
            raise LabError(
                f'"{seen[place]}" and "{connector.name}" are both a {place[2].rpartition(".")[2]} of '
                f"{place[0]}->{place[1]}: every other form has one of a kind between two clusters",
                f'name those that are to be exported, e.g. "lab mm2 export {connector.name} …"',
            )
        seen[place] = connector.name


def holds_secret(key: str, value: str) -> bool:
    """Whether a value is a password, or has one in it, instead of referring to it."""
    if key.endswith("jaas.config"):
        return _PLAIN_OPTION.search(value) is not None
    return is_secret(key) and value != "" and _REFERENCE.fullmatch(value) is None
