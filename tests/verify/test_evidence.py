"""What histories are made of, and that two ways of judging one share nothing."""

import ast
import random
from pathlib import Path
from typing import Any

import pytest

from lab.verify.evidence import LEDGER_COLUMNS, PARTITION_COLUMNS, RECORD_COLUMNS
from scenarios.verifier import frames, oracle
from scenarios.verifier.defects import DEFECTS, NO_LEDGER, PLAIN, Defect
from scenarios.verifier.histories import OTHER_RUN, RUN, clean

RUNS = (OTHER_RUN, RUN)


def test_the_oracle_shares_no_code_with_what_it_judges() -> None:
    tree = ast.parse(Path(oracle.__file__).read_text())
    imported = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    imported += [alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names]

    assert [name for name in imported if name and name.split(".")[0] in ("lab", "scenarios")] == []


@pytest.mark.parametrize(
    ("schema", "columns"),
    [
        (frames._RECORD, RECORD_COLUMNS),
        (frames._LEDGER, LEDGER_COLUMNS),
        (frames._PARTITION, PARTITION_COLUMNS),
    ],
)
def test_generated_histories_have_the_columns_of_real_ones(schema: Any, columns: str) -> None:
    outside = columns.replace("struct<key: string, value: binary>", "struct")

    assert schema.names == [column.split()[0] for column in outside.split(", ")]


@pytest.mark.parametrize("seed", range(100))
def test_the_oracle_finds_nothing_in_clean_histories(seed: int) -> None:
    found = oracle.judge(clean(seed % 4, seed), RUNS)

    assert {check: said for check, (said, _) in found.items() if said not in ("PASS", "n/a")} == {}


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_the_oracle_finds_each_defect_and_its_companions_at_most(defect: Defect) -> None:
    history = clean(defect.case, 5, defect.kind)
    defect.spoil(history, random.Random(5))  # noqa: S311 - repeatable

    found = {check: said for check, (said, _) in oracle.judge(history, RUNS).items()}

    assert found[defect.check] == defect.outcome
    others = {check for check, said in found.items() if said not in ("PASS", "n/a")} - {defect.check}
    assert others <= defect.also


def test_a_seed_decides_everything() -> None:
    assert clean(0, 7, PLAIN) == clean(0, 7, PLAIN)
    assert clean(0, 7, NO_LEDGER) != clean(0, 8, NO_LEDGER)
