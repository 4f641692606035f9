"""A YAML file as it is written, or where it is not well formed."""

from pathlib import Path
from typing import Any

import yaml

from lab.topology.model import TopologyError


def mapping(path: Path) -> dict[str, Any]:
    try:
        document = yaml.load(path.read_text(), _UniqueKeys)  # noqa: S506 - a SafeLoader with one more check
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        where = getattr(error, "problem_mark", None)
        place = f"{path}:{where.line + 1}:{where.column + 1}" if where else str(path)
        told = " ".join(str(getattr(error, "problem", None) or error).split())
        raise TopologyError(f"{place}: {told}", "mend the YAML") from error
    except OSError as error:
        raise TopologyError(f"{path}: {error.strerror}", "restore the file") from error
    if not isinstance(document, dict):
        raise TopologyError(f"{path}: not a mapping", "a Compose file starts with `services:`")
    return document


class _UniqueKeys(yaml.SafeLoader):
    """PyYAML keeps the last of two equal keys and says nothing; here that is an error."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Looked at as written: once merge keys are resolved, an overridden key does stand there twice."""
        node = super().compose_mapping_node(anchor)
        seen: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue  # the constructor refuses it, and says where
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(
                    problem=f'key "{key.value}" stands twice, first in line {seen[key.value]}',
                    problem_mark=key.start_mark,
                )
            seen[key.value] = key.start_mark.line + 1
        return node
