"""`pytest -n`: scenarios of one topology share a lab, so one worker runs all of them."""

import json
import subprocess
import sys
from pathlib import Path

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
pytestmark = pytest.mark.topology("{topology}")

@pytest.mark.parametrize("number", range(5))
def test_claim(number):
    assert True
"""
FILES = {"test_a.py": "one", "test_b.py": "two", "test_c.py": "one", "test_d.py": "two"}


def test_each_topology_has_one_worker(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  topology\n  slow\n")
    for name, topology in FILES.items():
        (tmp_path / name).write_text(SCENARIO.format(topology=topology))

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
    assert len(ran) == 5 * len(FILES)
    workers: dict[str, set[str]] = {}
    for nodeid, worker in ran:
        workers.setdefault(FILES[nodeid.partition("::")[0]], set()).add(worker)
    assert sorted(len(its) for its in workers.values()) == [1, 1]
    assert workers["one"] != workers["two"]
