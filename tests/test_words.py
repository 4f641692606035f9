"""Numbers and their nouns agree."""

import pytest

from lab.words import counted


@pytest.mark.parametrize(
    ("number", "told"), [(0, "no tasks"), (1, "1 task"), (2, "2 tasks"), (20_000, "20,000 tasks")]
)
def test_a_noun_follows_its_number(number: int, told: str) -> None:
    assert counted(number, "task") == told
