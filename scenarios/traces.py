"""What a fault could leave behind in a lab, looked at from outside of what makes and heals faults."""

from dataclasses import dataclass
from typing import Any

from lab import engine, images
from lab.faults.sidecar import IMAGE, NETWORK
from lab.harness import Lab
from lab.toxiproxy import Proxy, Toxiproxy

_OF_STARTS = ("StartedAt", "FinishedAt", "Pid", "Health", "ExitCode", "Error", "OOMKilled")


@dataclass(frozen=True, kw_only=True)
class Traces:
    """Compared before a fault and after it. Starts of containers may differ, and nothing else."""

    containers: dict[str, tuple[str, dict[str, Any], dict[str, Any]]]
    objects: frozenset[str]  # containers of any kind, networks, volumes
    rules: dict[str, str]
    proxies: dict[str, Proxy]
    configs: dict[str, dict[str, dict[str, str | None]]]


def traces(lab: Lab) -> Traces:
    boxes = lab.containers()
    found = engine.inspect([box.id for box in boxes])
    filters = ("--filter", f"label={engine.PROJECT_LABEL}={lab.project.name}")
    kinds = (("ps", "--all"), ("network", "ls"), ("volume", "ls"))
    with Toxiproxy(f"http://{lab.address('link')}") as link:
        proxies = link.proxies()
    return Traces(
        containers={
            box["Name"]: (
                box["Id"],
                {k: v for k, v in box["State"].items() if k not in _OF_STARTS},
                box["HostConfig"],
            )
            for box in found
        },
        objects=frozenset(
            line for kind in kinds for line in engine.docker(*kind, "--quiet", *filters).split()
        ),
        rules={box.service: rules(box.id) for box in boxes if box.service in lab.topology.workers},
        proxies=proxies,
        configs={alias: _own_configs(lab, alias) for alias in lab.topology.roles.clusters},
    )


def netfault() -> str:
    """The image that looks at rules, which no service is made of: nobody else may have built it yet."""
    return images.ensure(images.tool(IMAGE), on_line=lambda _: None).tag


def rules(container: str) -> str:
    """What is filtered in a container's network, without counters; the engine's own rules are for its DNS."""
    tables = ("run", "--rm", "--network", f"container:{container}", *NETWORK)
    told = engine.docker(*tables, "--entrypoint", "iptables-save", netfault(), "-t", "filter")
    lines = (line.partition("] ")[2] or line for line in told.splitlines() if not line.startswith("#"))
    return "\n".join(line.partition(" [")[0] for line in lines)


def _own_configs(lab: Lab, alias: str) -> dict[str, dict[str, str | None]]:
    cluster = lab.cluster(alias)
    configs = cluster.topic_configs(name for name in cluster.topic_names() if not name.startswith("__"))
    return {topic: {k: c.value for k, c in each.items() if c.own} for topic, each in configs.items()}
