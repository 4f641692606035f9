"""SIGTERM is Ctrl-C, and neither comes through in the middle of a clean-up."""

import signal
import subprocess
import sys
import threading

import pytest

from lab.interruption import uninterruptible

_IMPORTS = """\
import os, signal
from lab.interruption import treat_sigterm_as_ctrl_c, uninterruptible
"""


def run(body: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _IMPORTS + body], capture_output=True, text=True, timeout=20, check=False
    )


def test_sigterm_becomes_a_keyboard_interrupt_and_clean_up_runs() -> None:
    done = run(
        """
treat_sigterm_as_ctrl_c()
try:
    os.kill(os.getpid(), signal.SIGTERM)
except KeyboardInterrupt:
    print("interrupted")
finally:
    print("cleaned up")
"""
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\ncleaned up\n", "")


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_neither_signal_comes_through_while_uninterruptible(number: str) -> None:
    done = run(
        f"""
treat_sigterm_as_ctrl_c()
with uninterruptible():
    os.kill(os.getpid(), signal.{number})
    print("still here")
try:
    os.kill(os.getpid(), signal.{number})
except KeyboardInterrupt:
    print("interrupted afterwards")
"""
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "still here\ninterrupted afterwards\n", "")


def test_handlers_come_back_when_a_clean_up_fails() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    def clean_up() -> None:
        with uninterruptible():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
            raise ValueError("broken")

    with pytest.raises(ValueError, match=r"^broken$"):
        clean_up()

    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_thread_may_clean_up_too() -> None:
    reached: list[str] = []

    def clean_up() -> None:
        with uninterruptible():
            reached.append("inside")

    thread = threading.Thread(target=clean_up)
    thread.start()
    thread.join(5)

    assert reached == ["inside"]
