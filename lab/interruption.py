"""Ctrl-C and SIGTERM: the same thing to the lab, and never in the middle of a clean-up."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def treat_sigterm_as_ctrl_c() -> None:
    """Python dies of SIGTERM without running any `finally`; the lab must clean up first."""
    signal.signal(signal.SIGTERM, _interrupt)


def heed_ctrl_c() -> None:
    """Also when started in the background of a shell that lets such commands ignore it; for tests of it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def ignore_interruptions() -> None:
    """For what is short and must not be left half done; commands started from here inherit it."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def uninterruptible() -> Iterator[None]:
    """Ignore both signals for a while; commands started meanwhile inherit that."""
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers belong to the main thread, and so do interruptions
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
