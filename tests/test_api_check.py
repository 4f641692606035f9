"""lab.api_check: what the image says of documents. What it refuses is a scenario's subject."""

import pytest

from lab import api_check, engine, images
from lab.engine import EngineError
from lab.images import Image


@pytest.mark.parametrize(
    ("code", "told", "problems"),
    [
        (0, "", []),
        (
            1,
            "1: kind: not one of Pod\n2: a: no such field\n",
            ["1: kind: not one of Pod", "2: a: no such field"],
        ),
    ],
)
def test_each_line_is_a_problem(
    monkeypatch: pytest.MonkeyPatch, code: int, told: str, problems: list[str]
) -> None:
    monkeypatch.setattr(engine, "run_once", lambda image, *, stdin: (code, told))

    assert api_check.problems("kind: Pod\n") == problems


@pytest.mark.parametrize("code", [2, 137])
def test_an_image_that_read_nothing_found_nothing_out(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    monkeypatch.setattr(engine, "run_once", lambda image, *, stdin: (code, ""))

    with pytest.raises(EngineError, match=f"ended with exit code {code}"):
        api_check.problems("")


@pytest.mark.parametrize("is_there", [True, False])
def test_the_image_is_built_where_it_is_not_there(monkeypatch: pytest.MonkeyPatch, is_there: bool) -> None:
    built: list[str] = []
    monkeypatch.setattr(Image, "is_current", lambda _: is_there)
    monkeypatch.setattr(images, "build", lambda image, _: built.append(image.kind))

    api_check.build(lambda _: None)

    assert built == ([] if is_there else ["strimzi"])
