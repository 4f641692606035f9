"""What is wrong with a topology is said where it is, all of it at once, and never with a traceback."""

from pathlib import Path

import pytest

from lab.topology import TopologyError, read
from tests.written_topology import VALID, write


def refusal(folder: Path) -> TopologyError:
    with pytest.raises(TopologyError) as caught:
        read(folder)
    return caught.value


DEFECTS = {
    "an unknown key": (
        ("  teaches: Nothing\n", "  teaches: Nothing\n  brokrs: 3\n"),
        "x-lab.brokrs: no such key",
    ),
    "a missing key": (("  teaches: Nothing\n", ""), "x-lab.teaches: field required"),
    "no clusters": (
        ("  clusters:\n    source: [broker, broker2]\n    target: [other]\n", "  clusters: {}\n"),
        "x-lab.clusters: dictionary should have at least 1 item after validation, not 0",
    ),
    "a word for brokers": (
        ("[broker, broker2]", "three"),
        "x-lab.clusters.source: input should be a valid list",
    ),
    "a version that is no range": (
        ('">=2.8,<4"', '"3.x"'),
        'x-lab.kafka: value error, not a version range such as ">=2.8,<4": "3.x"',
    ),
    "a broker that is no service": (
        ("[broker, broker2]", "[broker, brker2]"),
        'x-lab.clusters.source: no service named "brker2" (did you mean "broker2"?)',
    ),
    "a worker that is no service": (
        ("connect: [connect]", "connect: [conect]"),
        'x-lab.connect: no service named "conect" (did you mean "connect"?)',
    ),
    "a first worker that only a profile starts": (
        ("  connect:\n    environment: {", "  connect:\n    profiles: [more]\n    environment: {"),
        'x-lab.connect: no service named "connect" (known: broker, broker2, other)',
    ),
    "a port on all addresses": (
        ('["127.0.0.1:${BROKER_PORT:-9092}:9092"]', '["${BROKER_PORT:-9092}:9092"]'),
        'services.broker: port "${BROKER_PORT:-9092}:9092" is not written as '
        "127.0.0.1:${NAME_PORT:-default}:container",
    ),
    "a port without a variable": (
        ("127.0.0.1:${BROKER_PORT:-9092}:9092", "127.0.0.1:9092:9092"),
        'services.broker: port "127.0.0.1:9092:9092" is not written as '
        "127.0.0.1:${NAME_PORT:-default}:container",
    ),
    "an environment as a list": (
        ('{KAFKA_ADVERTISED_LISTENERS: "INTERNAL://other:29093"}', '["A=b"]'),
        "services.other: environment is a list; quotes in a list become part of the value, use a mapping",
    ),
    "a size that is none": (
        ("mem_limit: 512m", "mem_limit: much"),
        'services.broker2: mem_limit "much" is not a size such as 512m',
    ),
    "a size in an unknown unit": (
        ("mem_limit: 512m", "mem_limit: 512x"),
        'services.broker2: mem_limit "512x" is not a size such as 512m',
    ),
    "a missing service in a fragment": (
        ("    image: kafka\n    mem_limit: 512m", "    extends: {file: compose.yaml, service: none-such}"),
        'services.broker2: compose.yaml has no service "none-such" to extend',
    ),
}


@pytest.mark.parametrize(("edit", "told"), DEFECTS.values(), ids=DEFECTS)
def test_a_defect_is_named_where_it_is(
    tmp_path: Path, request: pytest.FixtureRequest, edit: tuple[str, str], told: str
) -> None:
    assert edit[0] in VALID
    name = request.node.callspec.id.replace(" ", "-")
    folder = write(tmp_path, name, VALID.replace(*edit))

    error = refusal(folder)

    assert error.message == f'topology "{name}" is not valid: {told}'
    assert error.hint == f"mend {folder}/compose.yaml"
    assert error.exit_code == 2


def test_all_problems_are_reported_together(tmp_path: Path) -> None:
    text = VALID.replace("  teaches: Nothing\n", "  brokrs: 3\n").replace("512m", "much").replace("1g", "x")

    assert refusal(write(tmp_path, "broken", text)).message == (
        'topology "broken" is not valid: x-lab.teaches: field required; x-lab.brokrs: no such key; '
        'services.broker: mem_limit "x" is not a size such as 512m; '
        'services.broker2: mem_limit "much" is not a size such as 512m'
    )


SHAPES = {
    "no services": VALID.partition("services:")[0],
    "services as a list": VALID.partition("services:")[0] + "services: [broker]\n",
    "a service without a body": VALID + "  empty:\n",
    "ports as one text": VALID.replace('["127.0.0.1:${BROKER_PORT:-9092}:9092"]', "9092"),
    "extends without a file": VALID + "  more: {extends: broker}\n",
    "no roles": VALID.partition("services:")[2].join(("services:", "")),
    "roles that are empty": "x-lab:\nservices:" + VALID.partition("services:")[2],
}


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_a_wrong_shape_is_an_error_of_the_topology(tmp_path: Path, text: str) -> None:
    error = refusal(write(tmp_path, "misshapen", text))

    assert error.message.startswith('topology "misshapen" is not valid: ')
    assert "\n" not in error.message


UNREADABLE = {
    "a tab": ("x-lab:\n\ttitle: x\n", ":2:1: found character '\\t' that cannot start any token"),
    "a lost bracket": (
        "x-lab:\n  clusters: {a: [b}\n",
        ":2:19: expected ',' or ']', but got '}'",
    ),
    "a key twice": (
        "x-lab:\n  title: x\n  kafka: y\n  title: z\n",
        ':4:3: key "title" stands twice, first in line 2',
    ),
    "a list": ("- x-lab\n", ": not a mapping"),
    "nothing": ("", ": not a mapping"),
    "a control character": ("x-lab: \x00\n", ": special characters are not allowed"),
    "a mapping as a key": ("x-lab: {{a: b}: c}\n", ":1:9: found unhashable key"),
}


@pytest.mark.parametrize(("text", "told"), UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_yaml_is_named_by_file_line_and_column(tmp_path: Path, text: str, told: str) -> None:
    folder = write(tmp_path, "unreadable", text)

    error = refusal(folder)

    assert error.message.startswith(f"{folder}/compose.yaml:")
    assert told in error.message
    assert "\n" not in error.message


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, "latin1", "")
    (folder / "compose.yaml").write_bytes(b"x-lab: {title: caf\xe9}\n")

    assert refusal(folder).message == (
        f"{folder}/compose.yaml: 'utf-8' codec can't decode byte 0xe9 in position 18: "
        "invalid continuation byte"
    )


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    error = refusal(tmp_path)

    assert (error.message, error.hint) == (
        f"{tmp_path}/compose.yaml: No such file or directory",
        "restore the file",
    )
