"""The fixture `lab`, and the ways in which a scenario ends.

Scenarios of one topology share one lab, which starts with the first of them and goes after the last; where
they are many, some name a lab of their own. With `--lab NAME` they use one that is running and never bring
it down. With `-n` each lab has one worker.
"""

import gc
import hashlib
import re
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import Any, NamedTuple

import pytest
from xdist.scheduler import LoadScopeScheduling

from lab import harness, leases, monitoring
from lab.errors import Interrupted, LabError, NotEnough
from lab.faults import FaultNotPossible
from lab.harness import Lab, Wish, breaking
from lab.interruption import treat_sigterm_as_ctrl_c, uninterruptible
from lab.run import Run
from scenarios.under_load import AT_LEAST_ONCE, LINE, Line, UnderLoad, table
from scenarios.xdist_workers import Workers

# Spark's JVM compiles once: a third less work in the few verdicts of a scenario, a fifth more in large ones.
SMALL_VERDICTS = {"LAB_SPARK_OPTS": "-XX:TieredStopAtLevel=1"}
HELD, BROKEN, LAB_BROKEN = "claim held", "claim broken", "lab broken"
# A fault that did not happen proves nothing, and one that this kernel cannot make was not tried.
INCONCLUSIVE, SKIPPED = "inconclusive", "skipped"
_FROM_GOOD_TO_BAD = (HELD, SKIPPED, INCONCLUSIVE, BROKEN, LAB_BROKEN)
_NAMED = re.compile(r"^pytestmark = pytest\.mark\.topology\((.+)\)", re.MULTILINE)
_OUTCOME = pytest.StashKey[str]()
_LABS = pytest.StashKey["Labs"]()
_WORKERS = pytest.StashKey["Workers"]()
_OUTCOMES = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--lab", metavar="NAME", help="use this running lab and leave it up")
    parser.addoption("--keep", action="store_true", help="leave the labs up afterwards")
    parser.addoption("--suffix", default="", help="a suffix for the names of the labs that are started")
    parser.addoption("--kills", type=int, default=5, help="how many interruptions to try")
    parser.addoption("--failovers", type=int, default=3, help="how many failovers to try")
    parser.addoption("--seed", type=int, default=1, help="seed of everything random")
    parser.addoption("--slow", action="store_true", help="also wait where Kafka's defaults take minutes")
    parser.addoption("--kafka", metavar="VERSION", help="Kafka's version in the labs that are started")


def pytest_configure(config: pytest.Config) -> None:
    treat_sigterm_as_ctrl_c()
    # What a scenario that was interrupted or failed leaves behind is told; it must not hide how that ended.
    config.addinivalue_line("filterwarnings", "default::pytest.PytestUnraisableExceptionWarning")
    config.stash[_LABS] = labs = Labs(config)
    config.stash[_WORKERS] = workers = Workers(getattr(config, "workerinput", {}))
    for told_of_ctrl_c in (labs, workers):
        config.pluginmanager.register(told_of_ctrl_c)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Not a fixture's end: an interruption in the middle of one may cost the others their ends."""
    with uninterruptible():
        config.stash[_LABS].close()
        config.stash[_WORKERS].close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """All of one lab in a row, so that it starts once; else in the order of the files."""
    asked = "smoke" if "smoke" in config.option.markexpr else "nothing"
    slow = [i for i in items if i.get_closest_marker("slow") and not i.get_closest_marker(asked)]
    if slow and not config.getoption("--slow"):
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]
    first: dict[Wanted, int] = {}
    for item in items:
        first.setdefault(_wanted(item), len(first))
    items.sort(key=lambda item: first[_wanted(item)])


class Wanted(NamedTuple):
    """By a scenario: a lab of a topology, and which of them."""

    topology: str
    lab: str = ""


def _wanted(item: pytest.Item | pytest.FixtureRequest) -> Wanted:
    marker = (item if isinstance(item, pytest.Item) else item.node).get_closest_marker("topology")
    if marker is None:
        raise pytest.UsageError(f"{item}: a scenario names its topology: pytest.mark.topology(...)")
    return Wanted(*marker.args, **marker.kwargs)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    return ByLab(config, log)


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
        self.interrupted = False

    def of(self, wanted: Wanted) -> Lab:
        if wanted not in self._started:
            self._bring_down()  # one at a time in a process, so that memory holds one
            self._started[wanted] = self._attached(wanted.topology) or self._up(wanted)
        return self._started[wanted]

    def _attached(self, topology: str) -> Lab | None:
        name = self._config.getoption("--lab")
        if name is None:
            return None
        lab = Lab.attach(name)
        if lab.topology.name != topology:
            pytest.fail(f'lab "{name}" is of topology "{lab.topology.name}", not "{topology}"')
        return lab

    def _up(self, wanted: Wanted) -> Lab:
        name = f"test-{'-'.join(filter(None, wanted))}{self._config.getoption('--suffix')}"
        try:
            self._held.enter_context(leases.exclusive(name, "testing on"))
        except LabError as error:  # `up` would join it, and the first to end would take it from the other
            told = f"{error.message}\nhint: give this one's labs other names with --suffix"
            if hasattr(self._config, "workerinput"):  # xdist takes a worker's early end for a crash
                pytest.fail(told, pytrace=False)
            pytest.exit(told, returncode=4)
        wish = Wish(
            topology=wanted.topology,
            name=name,
            kafka=self._config.getoption("--kafka"),
            variables=SMALL_VERDICTS,
        )
        try:
            return Lab.up(wish)
        except Interrupted as error:  # pytest would count a LabError and go on with the next test
            raise KeyboardInterrupt from error

    def pytest_keyboard_interrupt(self) -> None:
        self.interrupted = True

    @contextmanager
    def restored(self, lab: Lab) -> Iterator[None]:
        """Afterwards without what was added, unless the whole lab is about to go."""
        before = lab.contents()
        yield
        if not self.interrupted or self._config.getoption("--lab") or self._config.getoption("--keep"):
            breaking.heal(lab, "end of the scenario")
            lab.restore(before)

    def close(self) -> None:
        if self._config.getoption("--keep"):
            for lab in self._started.values():
                lab.close()
        else:
            self._bring_down()

    def _bring_down(self) -> None:
        for lab in self._started.values():
            if self._config.getoption("--lab"):
                lab.close()
            else:
                lab.down()
        self._started.clear()
        self._held.close()


@pytest.fixture(scope="session")
def labs(request: pytest.FixtureRequest) -> Labs:
    return request.config.stash[_LABS]


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """The scenario's run: its tests are the steps, and what is not green leaves its evidence there."""
    name = request.node.path.stem.removeprefix("test_").replace("_", "-")
    run = Run.open(f"scenario-{name}", topology=_wanted(request).topology, scenario=request.node.nodeid)
    yield run
    outcomes = request.node.stash.get(_OUTCOMES, [f"{LAB_BROKEN}: nothing ran"])
    run.close(max(outcomes, key=_badness))


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest, labs: Labs, run: Run) -> Iterator[Lab]:
    """A running lab of the scenario's topology, afterwards without what the scenario added."""
    lab = labs.of(_wanted(request))
    lab.run = run
    with labs.restored(lab):
        yield lab


@pytest.fixture(autouse=True)
def step(request: pytest.FixtureRequest, run: Run) -> Iterator[None]:
    """Each test is a step of its scenario's run, and an annotation on the dashboards."""
    with run.step(request.node.name) as step:
        _mark(request, request.node.name)
        yield
        _mark(request, None)
        if "lab" in request.fixturenames:  # the next test must not find what this one left broken
            breaking.heal(request.getfixturevalue("lab"), "end of the test")
        step.note = request.node.stash.get(_OUTCOME, f"{LAB_BROKEN}: no result")
    request.node.parent.stash.setdefault(_OUTCOMES, []).append(step.note)
    if not step.note.startswith((HELD, SKIPPED)) and "lab" in request.fixturenames:
        harness.save_evidence(request.getfixturevalue("lab"), run)


def _mark(request: pytest.FixtureRequest, step: str | None) -> None:
    if "lab" in request.fixturenames:
        name = request.node.path.stem.removeprefix("test_")
        monitoring.mark_step(request.getfixturevalue("lab").name, name, step)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name of the test's own: shared labs, unshared topics."""
    digest = hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:6]
    return f"{request.node.originalname.removeprefix('test_')[:40]}-{digest}"


@pytest.fixture
def guarantee() -> str:
    """Of MM2 in the scenarios under load, where they say no other."""
    return AT_LEAST_ONCE


@pytest.fixture
def mirror(
    request: pytest.FixtureRequest, lab: Lab, run: Run, topic: str, guarantee: str
) -> Iterator[UnderLoad]:
    """A topic that is mirrored under load; once it was judged, a line of the table."""
    mirror = UnderLoad(lab, run, topic, guarantee)
    yield mirror
    if line := mirror.line(request.node.originalname):
        request.node.user_properties.append((LINE, asdict(line)))
    mirror.forget()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """What this machine's kernel cannot do is skipped, visibly."""
    try:
        return (yield)
    except FaultNotPossible as error:
        pytest.skip(error.message)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed assertion breaks the claim; too little evidence, or a fault without proof, says nothing of it;
    anything else that goes wrong breaks the lab.
    """
    error = call.excinfo
    if error is not None:
        # What the failed test leaves behind would else be finalized anywhere, such as within ast.parse,
        # which pytest shows failures with and which some Pythons (cpython issue 106905) cannot nest.
        gc.collect()
    report = yield
    if error is None:
        outcome = HELD
    elif error.errisinstance(AssertionError):
        outcome = BROKEN
    elif error.errisinstance(pytest.skip.Exception):
        outcome = f"{SKIPPED}: {error.value}"
    else:
        kind = INCONCLUSIVE if error.errisinstance(NotEnough) else LAB_BROKEN
        outcome = f"{kind}: {error.value}"
        if isinstance(error.value, LabError) and error.value.hint:
            report.sections.append(("hint", error.value.hint))
    if call.when == "call" or error is not None:
        item.stash[_OUTCOME] = outcome
        report.user_properties.append(("outcome", outcome))
    return report


def _badness(outcome: str) -> int:
    return _FROM_GOOD_TO_BAD.index(outcome.partition(":")[0])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many claims held, were broken, or could not be judged."""
    outcomes = [
        dict(getattr(report, "user_properties", ())).get("outcome", "").partition(":")[0]
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call" or getattr(report, "failed", False)
    ]
    properties = {  # whole with a test's last report, that of its end
        report.nodeid: dict(report.user_properties)
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "teardown"
    }
    if lines := [Line(**found[LINE]) for found in properties.values() if LINE in found]:
        terminalreporter.section("faults under load")
        terminalreporter.write_line(table(lines))
    terminalreporter.section("claims")
    terminalreporter.write_line(
        ", ".join(
            f"{kind}: {outcomes.count(kind)}"
            for kind in _FROM_GOOD_TO_BAD
            if kind in outcomes or kind in (HELD, BROKEN, LAB_BROKEN)
        )
    )
