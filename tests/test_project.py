"""Where files are, and which Kafka versions there are."""

from pathlib import Path

import pytest

from lab.errors import BadInput
from lab.project import ROOT, kafka_version, read_env_file, runs_folder, state_folder, versions


def test_an_env_file_is_read_as_compose_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "some.env"
    path.write_text("# a comment\n\nKAFKA_VERSION=3.9.1\n  PADDED=yes  \nLIST=a b\nEQUALS=a=b\nEMPTY=\n")

    assert read_env_file(path) == {
        "KAFKA_VERSION": "3.9.1",
        "PADDED": "yes",
        "LIST": "a b",
        "EQUALS": "a=b",
        "EMPTY": "",
    }


def test_the_state_folder_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_STATE", "/chosen")
    assert state_folder() == Path("/chosen")

    monkeypatch.delenv("LAB_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", "/xdg")
    assert state_folder() == Path("/xdg/mirror-lab")

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/ada")
    assert state_folder() == Path("/home/ada/.local/state/mirror-lab")


def test_runs_are_kept_in_the_checkout_unless_another_folder_is_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LAB_RUNS", "/chosen")
    assert runs_folder() == Path("/chosen")

    monkeypatch.delenv("LAB_RUNS")
    assert runs_folder() == ROOT / "runs"


def test_the_default_kafka_version_is_the_pinned_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kafka_version() == versions()["KAFKA_VERSION"] == "3.9.1"

    monkeypatch.setenv("LAB_KAFKA_VERSION", "2.8.2")
    assert kafka_version() == "2.8.2"
    assert kafka_version("3.4.0") == "3.4.0"


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ("3.9", 'did you mean "3.9.1"? all: 2.8.2 3.4.0 3.6.2 3.9.1 4.0.0 4.1.1 4.2.0 4.3.1'),
        ("1", "known: 2.8.2, 3.4.0, 3.6.2, 3.9.1, 4.0.0, 4.1.1, 4.2.0, 4.3.1"),
    ],
)
def test_an_unknown_kafka_version_names_the_nearest_and_all_once(wanted: str, hint: str) -> None:
    with pytest.raises(BadInput) as caught:
        kafka_version(wanted)

    assert caught.value.message == f'no Kafka version "{wanted}"'
    assert caught.value.hint == hint


def test_a_kafka_version_from_the_environment_is_checked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KAFKA_VERSION", "9.9.9")

    with pytest.raises(BadInput, match=r'^no Kafka version "9\.9\.9"$'):
        kafka_version()
