"""`pytest -n`: one worker runs all scenarios that share a lab, and another those of another."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONFTEST = """
import json, pathlib
from scenarios.conftest import pytest_addoption, pytest_collection_modifyitems, pytest_xdist_make_scheduler

def pytest_runtest_logreport(report):
    if report.when == "call" and hasattr(report, "node"):
        with pathlib.Path("workers").open("a") as file:
            file.write(json.dumps([report.nodeid, report.node.gateway.id]) + "\\n")
"""
SCENARIO = """
import pytest
pytestmark = pytest.mark.topology({wanted})

@pytest.mark.parametrize("number", range(5))
def test_claim(number):
    assert True
"""
ONE, TWO, TWO_OF_ONE = '"one"', '"two"', '"one", lab="second"'


@pytest.mark.parametrize("other", [TWO, TWO_OF_ONE])
def test_each_lab_has_one_worker(tmp_path: Path, other: str) -> None:
    files = {"test_a.py": ONE, "test_b.py": other, "test_c.py": ONE, "test_d.py": other}
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  topology\n  slow\n")
    for name, wanted in files.items():
        (tmp_path / name).write_text(SCENARIO.format(wanted=wanted))

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    ran = [json.loads(line) for line in (tmp_path / "workers").read_text().splitlines()]
    assert len(ran) == 5 * len(files)
    workers: dict[str, set[str]] = {}
    for nodeid, worker in ran:
        workers.setdefault(files[nodeid.partition("::")[0]], set()).add(worker)
    assert sorted(len(its) for its in workers.values()) == [1, 1]
    assert workers[ONE] != workers[other]


@pytest.mark.parametrize("side_by_side", [(), ("-n", "2")])
def test_a_lab_that_is_not_up_is_two_lines(side_by_side: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "scenarios/test_lag.py", "--lab", "nosuch", *side_by_side],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert done.stderr.strip() == 'ERROR: no lab named "nosuch" is up\nhint: known: none'
