"""The fixture `lab`, and the ways in which a scenario ends.

Scenarios of one topology share one lab, which starts with the first of them and goes after the last; where
they are many, some name a lab of their own. With `--lab NAME` they use one that is running and never bring
it down. With `-n` each lab has one worker.
"""

import gc
import hashlib
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from lab import harness, monitoring
from lab.errors import LabError, NotEnough
from lab.faults import FaultNotPossible
from lab.harness import Lab, breaking
from lab.interruption import heed_ctrl_c, treat_sigterm_as_ctrl_c, uninterruptible
from lab.run import Run
from scenarios.labs import ByLab, Labs, Wanted, wanted
from scenarios.under_load import AT_LEAST_ONCE, LINE, Line, UnderLoad, table
from scenarios.xdist_workers import Workers

HELD, BROKEN, LAB_BROKEN = "claim held", "claim broken", "lab broken"
# A fault that did not happen proves nothing, and one that this kernel cannot make was not tried.
INCONCLUSIVE, SKIPPED = "inconclusive", "skipped"
_FROM_GOOD_TO_BAD = (HELD, SKIPPED, INCONCLUSIVE, BROKEN, LAB_BROKEN)
_OUTCOME = pytest.StashKey[str]()
_LABS = pytest.StashKey[Labs]()
_WORKERS = pytest.StashKey[Workers]()
_OUTCOMES = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--lab", metavar="NAME", help="use this running lab and leave it up")
    parser.addoption("--keep", action="store_true", help="leave the last lab up afterwards")
    parser.addoption("--suffix", default="", help="a suffix for the names of the labs that are started")
    parser.addoption("--kills", type=int, default=5, help="how many interruptions to try")
    parser.addoption("--failovers", type=int, default=2, help="how many failovers to try")
    parser.addoption("--seed", type=int, default=1, help="seed of everything random")
    parser.addoption("--slow", action="store_true", help="also wait where Kafka's defaults take minutes")
    parser.addoption("--kafka", metavar="VERSION", help="Kafka's version in the labs that are started")


def pytest_configure(config: pytest.Config) -> None:
    heed_ctrl_c()
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
        config.stash[_LABS].end()
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
        first.setdefault(wanted(item), len(first))
    items.sort(key=lambda item: first[wanted(item)])


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    return ByLab(config, log)


@pytest.fixture(scope="session")
def labs(request: pytest.FixtureRequest) -> Labs:
    return request.config.stash[_LABS]


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """The scenario's run: its tests are the steps, and what is not green leaves its evidence there."""
    name = request.node.path.stem.removeprefix("test_").replace("_", "-")
    run = Run.open(f"scenario-{name}", topology=wanted(request).topology, scenario=request.node.nodeid)
    yield run
    outcomes = request.node.stash.get(_OUTCOMES, [f"{LAB_BROKEN}: nothing ran"])
    run.close(max(outcomes, key=_badness))


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest, labs: Labs, run: Run) -> Iterator[Lab]:
    """A running lab of the scenario's topology, afterwards without what the scenario added."""
    lab = labs.of(wanted(request))
    lab.run = run
    labs.require_fresh(request, lab)
    with labs.restored(lab, run):
        yield lab


@pytest.fixture(scope="module")
def own(labs: Labs) -> Iterator[Callable[[str], str]]:
    """Gives names to labs that a scenario starts by itself, which are gone before and afterwards."""
    with ExitStack() as held:
        yield lambda what: held.enter_context(labs.own(what))


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
