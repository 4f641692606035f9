"""What the dashboards and the alert rules ask Prometheus for."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from lab.project import ROOT

DASHBOARDS: Final = sorted((ROOT / "grafana/dashboards").glob("*.json"))
RULES: Final = sorted((ROOT / "prometheus/rules").glob("*.yml"))
RULE_TESTS: Final = sorted((ROOT / "prometheus/rules/tests").glob("*.yml"))
# A metric's name and, if it has one, its selector of labels.
_SELECTOR: Final = re.compile(r"\b(?:(?:mirror_lab|kafka|jvm|process)_\w+|up|ALERTS)\b(?:\{[^}]*\})?")


@dataclass(frozen=True)
class Panel:
    dashboard: str
    body: dict[str, Any]

    @property
    def title(self) -> str:
        return str(self.body["title"])

    @property
    def expressions(self) -> list[str]:
        return [str(target["expr"]) for target in self.body["targets"]]

    def __str__(self) -> str:
        return f"{self.dashboard}: {self.title}"


def panels() -> Iterator[Panel]:
    for path in DASHBOARDS:
        for body in json.loads(path.read_text())["panels"]:
            if body["type"] != "row":
                yield Panel(path.stem, body)


def alerts() -> Iterator[dict[str, Any]]:
    for path in RULES:
        for group in yaml.safe_load(path.read_text())["groups"]:
            yield from group["rules"]


def selectors(expression: str) -> list[str]:
    return _SELECTOR.findall(expression)


def with_variables(expression: str, **values: str) -> str:
    """The expression as Grafana sends it; a variable that is not given stands for everything."""
    return re.sub(r"\$(\w+)", lambda match: values.get(match[1], ".*"), expression)
