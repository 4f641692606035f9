"""What is written for readers: links lead somewhere, and what can be chosen is all there."""

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from lab import topology
from lab.cli.program import COMMANDS
from lab.project import ROOT, versions
from lab.topology import Topology

README: Final = ROOT / "README.md"
SETTINGS: Final = (ROOT / "docs/settings.md").read_text()
PAGES: Final = [
    README,
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
LINK: Final = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")


def everything(name: str) -> Topology:
    """A topology with all of its profiles."""
    chosen = topology.load(name)
    for profile in chosen.profiles:
        chosen = chosen.with_profile(profile)
    return chosen


def anchors(page: Path) -> set[str]:
    """Of its headings, as they are made on pages that show it."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_link_leads_somewhere(page: Path) -> None:
    for path, anchor in LINK.findall(page.read_text()):
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), path
        assert not anchor or anchor in anchors(there), f"{path}#{anchor}"


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.name)
def test_a_page_is_reached_from_the_first(page: Path) -> None:
    linked = {(README.parent / path).resolve() for path, _ in LINK.findall(README.read_text()) if path}

    assert page in linked


def test_the_first_page_names_every_command_topology_and_version_of_kafka() -> None:
    text = README.read_text()
    commands = text[text.index("## Commands") : text.index("### For programs")]

    assert [c for its in COMMANDS.values() for c in its if f"lab {c}" not in commands] == []
    assert [name for name in topology.names() if f"| `{name}` |" not in text] == []
    assert [version for version in versions()["KAFKA_VERSIONS"].split() if version not in text] == []
    profiles = {profile for name in topology.names() for profile in topology.load(name).profiles}
    assert [profile for profile in profiles if f"`{profile}`" not in commands] == []


@pytest.mark.parametrize("name", topology.names())
def test_each_variable_of_a_topology_is_described_with_its_default(name: str) -> None:
    rows = {
        variable: row
        for row in SETTINGS.splitlines()
        if (variable := row.removeprefix("| `").partition("`")[0]).startswith("LAB_")
    }
    for variable, default in everything(name).variables.items():
        if variable == "KAFKA_VERSION":  # which `--kafka` chooses
            continue
        _, _, defaults, where, *_ = rows[variable].split("|")
        assert (f"`{default}`" if default else "none") in defaults, variable
        where = rows["LAB_CONNECT_HEAP"].split("|")[3] if where.strip() == "the same" else where
        assert f"`{name}`" in where or where.strip() == "all", variable


@pytest.mark.parametrize("name", topology.names())
def test_each_profile_is_described(name: str) -> None:
    for profile in topology.load(name).profiles:
        row = next(row for row in SETTINGS.splitlines() if row.startswith(f"| `{profile}` |"))
        assert f"`{name}`" in row


def test_each_variable_that_commands_read_is_described() -> None:
    """Those of this process; what containers and builds are told is told by the lab."""
    read = re.compile(r"""(?:environ\.get\(|envvar=|env\.get\()"(LAB_\w+)\"""")
    code = "\n".join(path.read_text() for path in sorted((ROOT / "lab").rglob("*.py")))
    by_constants = {"LAB_SPARK_REMOTE", "LAB_SPARK_FOLDER", "LAB_ENGINE_AUTOSTART", "LAB_REGISTRY"}

    found = {*read.findall(code), *by_constants}
    assert found >= {"LAB_NAME", "LAB_STATE", "LAB_RUNS", "LAB_KAFKA_VERSION"}
    assert [variable for variable in sorted(found) if f"`{variable}`" not in SETTINGS] == []


def test_make_help_names_every_target_that_says_what_it_does() -> None:
    written = re.findall(r"^([a-z]+):.*## (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    done = subprocess.run(
        ["make", "--silent", "help"], cwd=ROOT, capture_output=True, text=True, timeout=30, check=True
    )

    assert done.stdout.splitlines() == [f"make {target:<9} {does}" for target, does in written]
    assert {"up", "down", "install", "help", "test", "check"} <= {target for target, _ in written}
