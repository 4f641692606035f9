"""Expressions that are awaited at the lab's Prometheus, which scrapes every 5 s."""

from lab.harness import Lab
from lab.metrics import MetricsError
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until


def wait_for(lab: Lab, expression: str, *, to_be: float | None = None, at_least: float | None = None) -> None:
    """To give numbers, or one number: a certain one, or one that is large enough."""

    def observe() -> bool | NotYet:
        found = [value.value for value in lab.metrics.query(expression)]
        fine = (to_be is None or found == [to_be]) and (
            at_least is None or min(found, default=-1) >= at_least
        )
        return (bool(found) and fine) or NotYet(f"{found or 'no data'}")

    wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what=expression, transient=(MetricsError,), pause_s=0.5)
