"""What a NAME on the command line means: a connector's, a JSON file, or all connectors of a source."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.errors import BadInput, nearest
from lab.mm2 import KINDS, SOURCE, read_connector
from lab.topology import Topology


def rule_of_names(alias: str) -> list[str]:
    """The names of a source's three connectors, and of their files."""
    return [f"mm2-{kind}-{alias}" for kind in KINDS]


@dataclass(frozen=True, kw_only=True)
class Names:
    """The connector files of a topology, and the clusters that may be named instead."""

    files: Mapping[str, Path]
    clusters: Collection[str]
    folder: Path

    @classmethod
    def of(cls, topology: Topology) -> "Names":
        folder = topology.folder / "connectors"
        return cls(files=topology.connector_files(), clusters=list(topology.roles.clusters), folder=folder)

    @property
    def aliases(self) -> list[str]:
        """Sources by whose alias files are named, and clusters."""
        named = {
            name.removeprefix(f"mm2-{kind}-")
            for name in self.files
            for kind in KINDS
            if name.startswith(f"mm2-{kind}-")
        }
        return sorted({*named, *self.clusters})

    def paths(self, names: list[str] | None) -> list[Path]:
        """The files of these names, each once; of all of the topology's if no name is given."""
        if not names:
            return _without_alternatives(list(self.files.values()))
        return list(dict.fromkeys(path for name in names for path in self._paths(name)))

    def connectors(self, names: list[str] | None, deployed: Collection[str]) -> list[str]:
        """The connectors of these names, each once, whether they have a file, or are deployed, or neither."""
        if not names:
            return list(dict.fromkeys(read_connector(path).name for path in self.files.values()))
        return list(dict.fromkeys(found for name in names for found in self._connectors(name, deployed)))

    def _paths(self, name: str) -> list[Path]:
        if name in self.files:
            return [self.files[name]]
        if Path(name).is_file():
            return [Path(name)]
        if name not in self.aliases:
            raise BadInput(
                f'no connector, no file and no source named "{name}"',
                nearest(name, [*self.files, *(alias for alias in self.aliases if self._is_source(alias))]),
            )
        return self._of_source(name)

    def _is_source(self, alias: str) -> bool:
        """A cluster that is only a target has no connectors to be named by."""
        return not {*rule_of_names(alias)}.isdisjoint(self.files) or any(
            True for _ in self._reading_from(alias)
        )

    def _of_source(self, alias: str) -> list[Path]:
        wanted = rule_of_names(alias)
        missing = [f"{name}.json" for name in wanted if name not in self.files]
        if not missing:
            return [self.files[name] for name in wanted]
        named_otherwise = list(self._reading_from(alias)) if len(missing) == len(wanted) else []
        if not named_otherwise:
            there = "is" if len(missing) == 1 else "are"
            raise BadInput(
                f'of the connectors of source "{alias}" {", ".join(missing)} {there} missing',
                f"write it into {self.folder}, or name the connectors that are there"
                if len(missing) < len(wanted)
                else f"write them into {self.folder}",
            )
        return _without_alternatives(named_otherwise)

    def _reading_from(self, alias: str) -> Iterator[Path]:
        """Files that a tutorial has named otherwise."""
        return (path for path in self.files.values() if read_connector(path).source_alias == alias)

    def _connectors(self, name: str, deployed: Collection[str]) -> list[str]:
        if name in deployed:
            return [name]
        if name in self.files or Path(name).is_file():
            return [read_connector(self._paths(name)[0]).name]
        by_rule = rule_of_names(name)
        if any(one in deployed or one in self.files for one in by_rule):
            return by_rule
        if name in self.clusters:
            return [read_connector(path).name for path in self._reading_from(name)] or by_rule
        return [name]


def together(paths: Iterable[Path]) -> list[list[str]]:
    """The names of files that can be deployed at once: one list of all, unless some are alternatives.

    Two files may be of one connector, the last of which counts here, and two source connectors may name the
    topics of one flow by different policies.
    """
    families: dict[str, dict[str, str]] = {}  # policy -> connector -> file
    policies: dict[tuple[str, str], set[str]] = {}  # flow -> policies
    stems = []
    for path in paths:
        connector = read_connector(path)
        stems.append(path.stem)
        families.setdefault(connector.policy, {})[connector.name] = path.stem
        if connector.connector_class == SOURCE:
            flow = (connector.source_alias, connector.target_alias)
            policies.setdefault(flow, set()).add(connector.policy)
    chosen = [list(family.values()) for family in families.values()]
    if any(len(of_flow) > 1 for of_flow in policies.values()):
        return chosen
    return [[name for family in chosen for name in family]]


def _without_alternatives(paths: list[Path]) -> list[Path]:
    """Files that are all meant when none is named. Of alternatives only whoever asks knows which."""
    chosen = together(paths)
    if sum(map(len, chosen)) < len(paths) or len(chosen) > 1:
        raise BadInput(
            f"some connector files are alternatives: {', '.join(path.stem for path in paths)}",
            f"name those that you want together, e.g. {' or '.join(' '.join(names) for names in chosen)}",
        )
    return paths
