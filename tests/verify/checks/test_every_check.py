"""Every check has a test of what its counts mean, and three defects or more that it must find."""

from pathlib import Path

import pytest

from lab.verify import checks
from lab.verify.checks import STANDARD
from scenarios.verifier import defects, internals

FILES = {path.stem for path in Path(checks.__file__).parent.glob("*.py")} - {"__init__", "check", "columns"}
PLANTED = [d.check for d in defects.DEFECTS] + [d.check for d in internals.DEFECTS]


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_check_has_a_test(name: str) -> None:
    assert (Path(__file__).parent / f"test_{name}.py").exists()


@pytest.mark.parametrize("check", [*STANDARD, *internals.CHECKS], ids=lambda check: str(check.name))
def test_a_check_has_three_defects(check: checks.Check) -> None:
    assert PLANTED.count(check.name) >= 3


def test_all_checks_are_asked() -> None:
    assert len(STANDARD) + len(internals.CHECKS) == len(FILES)


def test_names_of_checks_and_of_their_counts_are_told_apart() -> None:
    names = [check.name for check in (*STANDARD, *internals.CHECKS)]

    assert len(names) == len(set(names))
    assert not [name for name in names if ":" in name], "a colon parts a check's name from its count"


def test_there_are_enough_defects() -> None:
    assert len(PLANTED) >= 60
