"""Errors carry what and what to do, and every kind its exit code."""

import pytest

from lab.errors import BadInput, HostNotReady, Interrupted, LabError, NotEnough, nearest


@pytest.mark.parametrize(
    ("kind", "exit_code"),
    [(LabError, 1), (BadInput, 2), (NotEnough, 3), (HostNotReady, 4), (Interrupted, 130)],
)
def test_every_kind_of_error_has_itsexit_code(kind: type[LabError], exit_code: int) -> None:
    error = kind("it is so", "do this")

    assert error.exit_code == exit_code
    assert (error.message, error.hint, str(error)) == ("it is so", "do this", "it is so")
    assert isinstance(error, LabError)


def test_an_error_may_have_no_hint() -> None:
    assert LabError("it is so").hint is None


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("basic-miror", ["resilience", "basic-mirror"], 'did you mean "basic-mirror"?'),
        ("zzz", ["b", "a"], "known: a, b"),
        ("zzz", [], "known: none"),
    ],
    ids=["one is near", "none is near", "there are none"],
)
def test_a_mistyped_name_gets_the_nearest_or_all(name: str, known: list[str], hint: str) -> None:
    assert nearest(name, known) == hint
