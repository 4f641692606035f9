"""What the code promises about itself: layers, homes of the client libraries, who waits, who prints."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import typer

from lab.cli.program import program
from lab.faults import FAULTS, Fault
from lab.project import ROOT

# From low to high: a module or package imports only what stands above it here. One order for all
# is stricter than groups of equals, and leaves nothing to argue about: what is new gets one place.
LAYERS = (
    *("errors", "words", "project", "wait", "client_properties", "topology", "mm2_keys", "mm2"),
    *("mm2_renaming", "mm2_dedicated", "export", "mm2_problems"),
    *("mm2_together", "mm2_status", "mm2_plan", "mm2_names", "mm2_positions", "run", "past_runs", "leases"),
    *("security", "interruption", "journal", "ledger", "records", "setup", "engine", "removal"),
    *("monitoring", "http", "metrics", "toxiproxy", "connect"),
    *("kafka", "external", "mm2_records", "offset_sync", "spark", "spark_cluster", "offsets"),
    *("lag", "switching", "diagnose"),
    *("exporter", "connectors", "dedicated", "images", "api_check", "faults", "workload", "producing"),
    *("consuming", "verify", "consumption", "streaming", "harness", "bench", "cli", "__main__"),
)
# The same within a room that is large.
WITHIN = {
    "verify": (
        *("verdict", "report", "flow", "due", "seen", "parity", "standing", "spans", "skipping", "internals"),
        *("alignment", "evidence", "checks", "mm2_state", "mm2_checks", "figures", "belonging", "ends"),
        *("position", "catching_up", "verification", "__init__"),
    ),
}

# The modules that may import a client library; everybody else goes through them.
HOMES = {
    "python_on_whales": {"engine"},
    "cryptography": {"security"},
    "prometheus_client": {"exporter"},
    "httpx": {"connect", "http", "metrics", "setup", "toxiproxy"},
    "confluent_kafka": {"kafka"},
    "pyspark": {
        *("spark", "spark_cluster", "offsets", "verify", "consumption", "streaming"),
    },
    "typer": {"cli"},
    "rich": {"cli"},
    "yaml": {"topology", "export"},  # one reads its files, the other writes documents for Kubernetes
    "tenacity": {"wait"},
    "pytest": set(),
}


@dataclass(frozen=True)
class Module:
    """A file of lab/, e.g. lab/setup/apt.py as "setup.apt" of the layer "setup"."""

    path: Path
    name: str

    @property
    def layer(self) -> str:
        return self.name.partition(".")[0]

    @property
    def tree(self) -> ast.Module:
        return _parsed(self.path)

    def imports(self) -> Iterator[str]:
        """Everything imported anywhere in the file, functions included, as full dotted names."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.path}: imports are absolute"
                yield from (f"{node.module}.{alias.name}" for alias in node.names)

    def calls(self) -> Iterator[str]:
        """Every name that stands in the file, attributes with their left side: "sys.stdout.write"."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name | ast.Attribute):
                yield ast.unparse(node)


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def _modules() -> list[Module]:
    found = []
    for path in sorted((ROOT / "lab").rglob("*.py")):
        parts = path.relative_to(ROOT / "lab").with_suffix("").parts
        found.append(Module(path, ".".join(parts).removesuffix(".__init__")))
    return [module for module in found if module.name != "__init__"]


MODULES = _modules()


def test_every_module_has_its_layer() -> None:
    assert {module.layer for module in MODULES} == set(LAYERS)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_imports_go_down(module: Module) -> None:
    below = LAYERS[: LAYERS.index(module.layer)]
    # `from lab import engine` imports lab.engine: the first part after "lab" is the layer.
    imported = {name.split(".")[1] for name in module.imports() if name.startswith("lab.")}

    assert imported - {module.layer} <= set(below)


@pytest.mark.parametrize("room", WITHIN)
def test_imports_go_down_within_a_room(room: str) -> None:
    order = WITHIN[room]
    members = {module.name.split(".")[1] for module in MODULES if module.name.startswith(f"{room}.")}
    up = {
        (module.name, name)
        for module in MODULES
        if module.name.startswith(f"{room}.")
        for own in (module.name.split(".")[1],)
        for name in module.imports()
        if name.startswith(f"lab.{room}.")
        and name.split(".")[2] != own
        and order.index(name.split(".")[2]) >= order.index(own)
    }

    assert members <= set(order)
    assert up == set()


@pytest.mark.parametrize("library", HOMES)
def test_a_client_library_has_one_home(library: str) -> None:
    users = {
        module.layer for module in MODULES for name in module.imports() if name.partition(".")[0] == library
    }

    assert users <= HOMES[library]


def test_only_wait_sleeps() -> None:
    sleepers = {
        module.name
        for module in MODULES
        if any(name.endswith(".sleep") or name == "sleep" for name in (*module.calls(), *module.imports()))
    }

    assert sleepers - {"wait"} == set()


FOR_THE_COMMAND_LINE = {
    *("print", "input", "exit", "quit", "SystemExit", "os._exit", "sys.exit"),
    *("sys.stdout", "sys.stderr", "sys.stdin"),
}


# They are started by others, and talk to those who start them.
PROCESSES = {"exporter.__main__", "consuming.__main__", "faults.__main__"}


def test_only_the_command_line_prints_and_exits() -> None:
    talkers = {
        (module.name, name)
        for module in MODULES
        for name in module.calls()
        if name in FOR_THE_COMMAND_LINE and module.layer != "cli" and module.name not in PROCESSES
    }

    assert talkers == set()


def test_only_what_ends_with_the_error_catches_everything() -> None:
    """A handler of everything raises again; Ruff looks after `except Exception`."""
    for module in MODULES:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ExceptHandler) and (
                node.type is None or ast.unparse(node.type) == "BaseException"
            ):
                assert any(isinstance(inner, ast.Raise) for inner in ast.walk(node)), (
                    f"{module.path}:{node.lineno}"
                )


def test_every_module_says_what_it_owns() -> None:
    silent = [module.name for module in MODULES if not ast.get_docstring(module.tree)]

    assert silent == []


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_has_a_file_and_a_test_of_its_own(fault: type[Fault]) -> None:
    module = fault.__module__.rpartition(".")[2]

    assert module == fault.name.replace("-", "_")
    assert (ROOT / f"tests/faults/test_{module}.py").is_file()
    assert fault.__doc__


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").rglob("test_*.py")), ids=lambda path: path.stem)
def test_a_scenario_has_a_claim_and_names_its_topology(path: Path) -> None:
    tree = _parsed(path)
    markers = [
        ast.unparse(node.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.topology"
    ]

    assert ast.get_docstring(tree), "its docstring is the claim"
    assert markers, 'pytestmark = pytest.mark.topology("...")'


def test_there_is_a_scenario() -> None:
    assert list((ROOT / "scenarios").rglob("test_*.py"))


def _commands(group: object, path: str = "lab") -> Iterator[tuple[str, object]]:
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from _commands(command, f"{path} {name}")


# `exec` hands the terminal over to another program; these groups alone only print their help.
WITHOUT_JSON = {"lab", "lab mm2", "lab fault", "lab exec"}


@pytest.mark.parametrize(
    ("path", "command"),
    [
        (path, command)
        for path, command in _commands(typer.main.get_command(program()))
        if path not in WITHOUT_JSON
    ],
)
def test_every_command_takes_json_and_has_help(path: str, command: object) -> None:
    options = [option for parameter in getattr(command, "params", ()) for option in parameter.opts]

    assert "--json" in options, path
    assert getattr(command, "help", None), path
