"""A lab goes away: brought down, pruned, or abandoned since it did not come up, its evidence saved before."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from lab import engine, leases, monitoring, removal, topology
from lab.engine import EngineError
from lab.errors import BadInput, HostNotReady, Interrupted, LabError
from lab.harness import settings
from lab.harness.parts import PROJECT_PREFIX, Parts
from lab.interruption import uninterruptible
from lab.removal import Removed
from lab.run import Run
from lab.setup import require_engine


def bring_down(name: str) -> Removed:
    """Remove everything of a lab, in whatever state it is, and give its ports back."""
    leases.check_name(name)
    if settings.without_containers(leases.leased(name) or {}):
        return forget(name)
    settings.require_its_engine(name)
    require_engine()
    with leases.exclusive(name):
        return _remove(name)


def forget(name: str) -> Removed:
    """Give a lab's ports back and ask no engine: of one whose engine is no more nothing can be removed."""
    with leases.exclusive(leases.check_name(name)):
        leases.release(name)
    return Removed()


def _remove(name: str) -> Removed:
    with uninterruptible():
        removed = removal.remove(PROJECT_PREFIX + name)
        leases.release(name)
    return removed


def prune() -> Removed:
    """Remove every labelled object of every lab of this engine, and their leases."""
    require_engine()
    with uninterruptible():
        removed = removal.remove()
        for name in leases.names():
            if settings.is_of_this_engine(leases.leased(name) or {}):
                leases.release(name)
    return removed


def stop_profile(name: str, profile: str) -> None:
    """Remove a profile's containers from a running lab; its volumes go with the lab."""
    settings.lease_of(name)
    with leases.exclusive(name):
        lease = settings.lease_of(name)
        plain = topology.load(lease["LAB_TOPOLOGY"])
        of_it = plain.with_profile(profile).services.keys() - plain.services.keys()
        if boxes := [box.id for box in engine.containers(PROJECT_PREFIX + name) if box.service in of_it]:
            engine.docker("rm", "--force", *boxes)
        left = settings.without_profile(lease, profile)
        leases.lease(name, settings.started(plain, left), left, {})
        monitoring.write(name, settings.started(plain, left))


def abandon(
    name: str,
    lab: Parts | None,
    run: Run,
    error: BaseException,
    *,
    keep: bool,
    lease: Mapping[str, str] | None = None,
) -> BaseException:
    """Save what can tell why, remove what was started, and give the error that the user sees.

    What is kept gets the lease back that it had: settings with which it did not come up would else stay.
    """
    left = f'what is there of it was kept: "lab status --name {name}", "lab down --name {name}"'
    with uninterruptible():
        if isinstance(error, EngineError) and error.output:
            with _noting(run, "engine.log"):
                run.save("engine.log", error.output)
        if lab is not None:
            with _noting(run, "evidence"):
                save_evidence(lab, run)
        if not keep:
            left = f'not all of it could be removed: "lab down --name {name}"'
            with _noting(run, "bring-down"), run.step("bring down"):
                _remove(name)
                left = "nothing is left of it"
        elif lab is not None and lease is not None and lease != leases.leased(name):
            with _noting(run, "settings"):
                _go_back(name, lease)
                left += f', "{lab.up_again}" with its settings of before'
    interrupted = isinstance(error, KeyboardInterrupt)
    with suppress(OSError):
        run.close("interrupted" if interrupted else f"failed: {error}")
    if interrupted:
        return Interrupted(f'starting lab "{name}" was interrupted', left)
    if isinstance(error, LabError) and not isinstance(error, HostNotReady | BadInput):
        return type(error)(
            f'lab "{name}" did not come up: {error.message}', f"evidence is in {run.path}; {left}"
        )
    return error


def _go_back(name: str, lease: Mapping[str, str]) -> None:
    """To the settings that a lab had: the next `up` makes its containers of them again."""
    plain = settings.started(topology.load(lease["LAB_TOPOLOGY"]), lease)
    leases.put_back(name, plain, lease)
    monitoring.write(name, plain)
    optional = plain.optional.keys() - plain.services.keys()
    if new := [box.id for box in engine.containers(PROJECT_PREFIX + name) if box.service in optional]:
        engine.docker("rm", "--force", *new)


def save_evidence(lab: Parts, run: Run) -> None:
    """Logs and state of every container, the Compose file as rendered, the connectors' status.

    Each piece on its own: what cannot be had is written down as such and does not hide the cause.
    """
    from lab.harness import observing  # with all rules of a diagnosis: what goes well needs none

    with run.step("save evidence"):
        with _noting(run, "containers.json"):
            boxes = engine.containers(lab.project.name)
            run.save("containers.json", engine.inspect([box.id for box in boxes]))
            for box in boxes:
                with _noting(run, f"logs/{box.service}.log"):
                    run.save(f"logs/{box.service}.log", engine.logs(box.id))
        with _noting(run, "compose.yaml"):
            run.save("compose.yaml", lab.project.rendered())
        with _noting(run, "connectors.json"):
            run.save("connectors.json", [str(status) for status in lab.statuses()])
        with _noting(run, observing.SAVED):
            run.save(observing.SAVED, observing.saved(observing.without_containers(lab)))


@contextmanager
def _noting(run: Run, name: str) -> Iterator[None]:
    try:
        yield
    except (LabError, OSError) as error:  # a full disk may be why the lab did not come up
        with suppress(OSError):
            run.save(f"{name}.missing", f"{error}\n")
