"""Start a stopped engine and wait until it answers, also after one that was killed."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from lab.errors import HostNotReady
from lab.setup.command import must
from lab.setup.daemon import Daemon, Process
from lab.setup.host import Host
from lab.setup.reach import Reach, reach_engine
from lab.wait import ENGINE_START_S, NotYet, TimedOut, wait_until

END_S: Final = 20.0
ORPHAN_S: Final = 20.0  # for a containerd that outlived its engine: one in good health needs 1 s


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two labs that find the engine stopped at once start one, not two."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "engine.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _answers(host: Host) -> bool | NotYet:
    reached = reach_engine(host, timeout_s=2)
    here = reached.reach in (Reach.ANSWERS, Reach.NO_CLIENT)
    return True if here else NotYet(f"{reached.reach}, {reached.detail}")


def _wait_for_answer(
    host: Host, daemon: Daemon, process: Process | None, log_start: int, budget_s: float
) -> None:
    """Until the engine answers, or the process that should bring that about has ended."""

    def observe() -> bool | NotYet:
        seen = _answers(host)
        ended = process is not None and process.poll() is not None
        return False if ended and isinstance(seen, NotYet) else seen

    hint = 'run "journalctl -u docker -n 30"' if host.has_systemd else f'look into "{daemon.log}"'
    try:
        answers = wait_until(observe, timeout_s=budget_s, what="docker engine answers", hint=hint)
    except TimedOut as error:
        complaint = f"; dockerd says: {daemon.last_words(log_start)}" if process else ""
        raise HostNotReady(f"{error.message}{complaint}", hint) from error
    if not answers:
        raise HostNotReady(f"dockerd ended at its start: {daemon.last_words(log_start)}", hint)


def _end(process: Process) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        wait_until(
            lambda: process.poll() is not None or NotYet("alive"), timeout_s=END_S, what="dockerd ended"
        )
    except TimedOut:
        process.kill()


def _run_dockerd(host: Host, daemon: Daemon, budget_s: float) -> None:
    daemon.clear_stale()
    log_start = daemon.log_bytes()
    process = daemon.spawn(list(daemon.command), daemon.log, host)
    try:
        _wait_for_answer(host, daemon, process, log_start, budget_s)
    except BaseException:  # also Ctrl-C: an engine that never answered is not left behind
        _end(process)
        raise


def _kill_containerd(host: Host, daemon: Daemon, pid: int) -> None:
    """One that outlived its engine may hold its socket and answer nothing. dockerd would go on waiting."""

    def gone() -> bool | NotYet:
        alive = daemon.living(daemon.containerd_pid_file, "containerd")
        return True if alive is None else NotYet(f"containerd {alive} lives")

    host.run(["kill", "-KILL", str(pid)], timeout_s=5)
    wait_until(gone, timeout_s=END_S, what=f"containerd {pid} ended")


def _start_dockerd(host: Host, daemon: Daemon) -> None:
    daemon.log.parent.mkdir(parents=True, exist_ok=True)
    if daemon.living(daemon.pid_file, "dockerd"):
        _wait_for_answer(
            host, daemon, None, daemon.log_bytes(), daemon.start_s
        )  # someone else's, on its way up
        return
    orphan = daemon.living(daemon.containerd_pid_file, "containerd")
    try:
        _run_dockerd(host, daemon, min(daemon.start_s, ORPHAN_S) if orphan else daemon.start_s)
    except HostNotReady:
        if orphan is None or daemon.living(daemon.containerd_pid_file, "containerd") != orphan:
            raise
        _kill_containerd(host, daemon, orphan)
        _run_dockerd(host, daemon, daemon.start_s)


def start_engine(host: Host, daemon: Daemon | None = None) -> None:
    """Start it and wait until it answers. Nothing happens when it answers already."""
    daemon = daemon or Daemon(log=host.state_dir / "dockerd.log")
    with _alone(host.state_dir):
        if _answers(host) is True:
            return
        if not host.has_systemd:
            _start_dockerd(host, daemon)
            return
        hint = 'run "journalctl -u docker -n 30"'
        start = ["systemctl", "start", "docker"]
        must(host.run, start, doing="starting the docker engine", hint=hint, timeout_s=ENGINE_START_S)
        _wait_for_answer(host, daemon, None, daemon.log_bytes(), daemon.start_s)
