"""A command ends in an exit code, whatever becomes of it, and its last words reach the error."""

import pytest

from lab.errors import HostNotReady
from lab.setup.command import Completed, command_environment, must, run_command


def test_a_command_brings_code_and_both_streams() -> None:
    assert run_command(["sh", "-c", "echo a; echo b >&2; exit 3"]) == Completed(3, "a\n", "b\n")


def test_a_command_that_is_not_there_ends_in_127() -> None:
    assert run_command(["no-such-program"]).code == 127


def test_a_command_that_does_not_end_is_ended() -> None:
    done = run_command(["sleep", "5"], timeout_s=0.05)
    assert (done.code, done.stderr) == (124, "sleep had not ended after 0.05 s")


def test_a_failure_says_what_was_attempted_and_the_last_lines_of_stderr() -> None:
    def fails(command: list[str], *, timeout_s: float = 60.0) -> Completed:
        return Completed(100, stderr="1\n2\n\n3\nE: no such package\n")

    with pytest.raises(HostNotReady) as caught:
        must(fails, ["apt-get"], doing="installing x", hint="look into it")
    assert caught.value.message == "installing x failed (exit 100): 2 | 3 | E: no such package"
    assert caught.value.hint == "look into it"


def test_commands_find_the_folders_of_the_system_and_speak_english() -> None:
    environment = command_environment({"PATH": "/usr/bin", "LC_ALL": "de_DE.UTF-8"})
    assert environment["PATH"] == "/usr/bin:/usr/local/sbin:/usr/sbin:/sbin"
    assert environment["LC_ALL"] == "C"
