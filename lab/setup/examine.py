"""Look at everything that a lab needs of its host. Changes nothing."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lab.setup.capacity import check_disk, check_memory
from lab.setup.certificates import check_certificates
from lab.setup.compose import check_compose
from lab.setup.engine import check_engine
from lab.setup.finding import DEFAULTS, Finding, Wanted
from lab.setup.host import Host
from lab.setup.kernel import Ability, check_ability
from lab.setup.networks import check_networks
from lab.setup.ports import check_ports
from lab.setup.reach import Reached, reach_engine
from lab.setup.registry import check_base_image


def _engine_info(host: Host, reached: Reached) -> dict[str, Any]:
    if not reached.endpoint.is_direct:
        return {}
    try:
        return host.ask(reached.endpoint, "GET", "/info", timeout_s=3).json()
    except OSError:
        return {}


def examine(wanted: Wanted = DEFAULTS, *, host: Host | None = None) -> list[Finding]:
    """Every check, in the order in which a reader wants them, all at once."""
    host = host or Host()
    reached = reach_engine(host, timeout_s=3)
    info = _engine_info(host, reached)
    checks: list[Callable[[], list[Finding]]] = [
        lambda: [check_engine(host, reached)],
        lambda: [check_compose(host)],
        lambda: [check_memory(host, info, wanted)],
        lambda: [check_disk(host, info, wanted)],
        lambda: [check_ports(wanted)],
        lambda: [check_networks(host, reached)],
        lambda: [check_certificates(host)],
        lambda: check_base_image(host, reached, wanted.base_image),
        lambda: [check_ability(host, ability) for ability in Ability],
    ]
    with ThreadPoolExecutor(max_workers=len(checks)) as pool:
        results = [pool.submit(check) for check in checks]
        return [finding for result in results for finding in result.result()]
