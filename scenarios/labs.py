"""The labs of one pytest process: which one a scenario wants, who runs it with `-n`, and when it goes."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import pytest
from xdist.scheduler import LoadScopeScheduling

from lab import leases, topology
from lab.errors import BadInput, Interrupted, LabError
from lab.harness import Lab, Wish, breaking, bring_down, save_evidence, settings
from lab.harness.contents import Contents, restore
from lab.run import Run

# JVMs with the first compiler alone: over the few records of a scenario the second does not pay for its time.
ONE_COMPILER = "-XX:TieredStopAtLevel=1"
COMPILED_ONCE = ("LAB_SPARK_OPTS", "LAB_SECURED_OPTS", "LAB_MM2_OPTS")
_NAMED = re.compile(r"^pytestmark = pytest\.mark\.topology\((.+)\)", re.MULTILINE)


class Wanted(NamedTuple):
    """By a scenario: a lab of a topology, and which of them."""

    topology: str
    lab: str = ""


def wanted(item: pytest.Item | pytest.FixtureRequest) -> Wanted:
    marker = (item if isinstance(item, pytest.Item) else item.node).get_closest_marker("topology")
    if marker is None:
        raise pytest.UsageError(f"{item}: a scenario names its topology: pytest.mark.topology(...)")
    return Wanted(*marker.args, **marker.kwargs)


class ByLab(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """With `-n`: scenarios that share a lab go to one worker.

    Whoever deals them out has collected nothing: it knows their files, and what they want stands there.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        named = _NAMED.search((self.config.rootpath / file).read_text(encoding="utf-8"))
        return named[1] if named else file


class Labs:
    """The labs of one pytest process."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._started: dict[Wanted, Lab] = {}
        self._held = ExitStack()
        self._kept: set[str] = set()
        self.interrupted = False

    def pytest_sessionstart(self) -> None:
        if name := self._config.getoption("--lab"):
            try:
                settings.lease_of(name)
            except BadInput as error:
                raise pytest.UsageError(f"{error.message}\nhint: {error.hint}") from error

    def of(self, wanted: Wanted) -> Lab:
        if wanted not in self._started:
            self._close()  # one at a time in a process, so that memory holds one
            self._started[wanted] = self._attached(wanted.topology) or self._up(wanted)
        return self._started[wanted]

    def _attached(self, topology: str) -> Lab | None:
        name = self._config.getoption("--lab")
        if name is None:
            return None
        lab = Lab.attach(name)
        if lab.topology.name != topology:
            pytest.fail(f'lab "{name}" is of topology "{lab.topology.name}", not "{topology}"', pytrace=False)
        return lab

    @contextmanager
    def own(self, what: str) -> Iterator[str]:
        """The name of a lab that nobody else tests on; nothing of it is there before, nor afterwards.

        What is there is left of a run that was killed, perhaps with the machine: `up` would join it.
        """
        name = f"test-{what}{self._config.getoption('--suffix')}"
        with ExitStack() as held:
            try:
                held.enter_context(leases.exclusive(name, "testing on"))
            except LabError as error:
                told = f"{error.message}\nhint: give this one's labs other names with --suffix"
                if hasattr(self._config, "workerinput"):  # xdist takes a worker's early end for a crash
                    pytest.fail(told, pytrace=False)
                pytest.exit(told, returncode=4)
            bring_down(name)
            try:
                yield name
            finally:
                if name not in self._kept:
                    bring_down(name)

    def _up(self, wanted: Wanted) -> Lab:
        name = self._held.enter_context(self.own("-".join(filter(None, wanted))))
        known = topology.load(wanted.topology).variables
        wish = Wish(
            topology=wanted.topology,
            name=name,
            kafka=self._config.getoption("--kafka"),
            variables={variable: ONE_COMPILER for variable in COMPILED_ONCE if variable in known},
        )
        try:
            return Lab.up(wish)
        except Interrupted as error:  # pytest would count a LabError and go on with the next test
            raise KeyboardInterrupt from error

    def require_fresh(self, item: pytest.FixtureRequest, lab: Lab) -> None:
        """A lesson walks from the first step: in a running lab where somebody has been at work it would fail
        at one that is not to blame.
        """
        is_lesson = item.node.path.parent.name == "lessons"
        if not (self._config.getoption("--lab") and is_lesson and lab.topology.has_connect):
            return
        if deployed := lab.connect.names():
            again = f'"lab down --name {lab.name}", then "lab up {lab.topology.reference} --name {lab.name}"'
            told = f'this lesson needs a lab without connectors; "{lab.name}" has {", ".join(deployed)}'
            pytest.fail(f"{told}\nhint: {again}", pytrace=False)

    def pytest_keyboard_interrupt(self) -> None:
        self.interrupted = True

    @contextmanager
    def restored(self, lab: Lab, run: Run) -> Iterator[None]:
        """Afterwards without what was added, unless the whole lab is about to go."""
        before = Contents.of(lab)
        yield
        if not self.interrupted or self._config.getoption("--lab") or self._config.getoption("--keep"):
            breaking.heal(lab, "end of the scenario")
            with run.step("restore the lab") as step:
                told: list[str] = []
                try:
                    restore(lab, before, say=told.append)
                except LabError:
                    save_evidence(lab, run)
                    self._started.clear()  # the next scenario gets a lab that is whole
                    lab.close()
                    raise
                finally:
                    step.note = "; ".join(told)

    def end(self) -> None:
        if self._config.getoption("--keep"):
            self._kept = {lab.name for lab in self._started.values()}
        self._close()

    def _close(self) -> None:
        started, self._started = self._started, {}
        with self._held:
            for lab in started.values():
                lab.close()
