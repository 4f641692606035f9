"""The link of a lab as faults use it: which proxies are meant, how they are reached and restored."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from lab.errors import BadInput, nearest
from lab.faults.fault import FaultNotObserved, Ground
from lab.faults.inverse import Inverse
from lab.toxiproxy import LinkError, Toxic, Toxiproxy
from lab.wait import FAULT_SHOWS_S, NotYet, wait_until

T = TypeVar("T")
BOTH_WAYS: Final = ("upstream", "downstream")


@dataclass(frozen=True, kw_only=True)
class Way:
    """One proxy: to which broker it leads, and where on this host that answers, through it and past it."""

    broker: str
    node_id: str
    through: str
    direct: str


@dataclass(frozen=True, kw_only=True)
class Link:
    """The proxies that a fault is about."""

    url: str
    ways: tuple[Way, ...]

    @property
    def brokers(self) -> str:
        return ", ".join(way.broker for way in self.ways)

    def each(self, do: Callable[[Way], T]) -> list[T]:
        """All at once: a slow link is slow for each."""
        with ThreadPoolExecutor(len(self.ways)) as pool:
            return list(pool.map(do, self.ways))

    def poison(self, toxics: Sequence[Toxic]) -> None:
        with Toxiproxy(self.url) as toxiproxy:
            for way in self.ways:
                for toxic in toxics:
                    toxiproxy.add(way.broker, toxic)

    def require_poisoned(self, toxics: Sequence[Toxic]) -> None:
        """A link that was restarted has forgotten them."""
        with Toxiproxy(self.url) as toxiproxy:
            proxies = toxiproxy.proxies()
        for way in self.ways:
            there = proxies[way.broker].toxics if way.broker in proxies else ()
            if missing := [toxic.name for toxic in toxics if toxic.name not in there]:
                raise FaultNotObserved(
                    f'the link to "{way.broker}" has no toxic "{missing[0]}"', "was it restarted?"
                )


def link_to(lab: Ground, cluster: str, broker: str | None) -> Link:
    """To all brokers of a cluster, or to one; all of its proxies must be on."""
    link = lab.topology.roles.link
    if link is None:
        raise BadInput(
            f'topology "{lab.topology.name}" has no link between its clusters', '"resilience" has one'
        )
    clusters = lab.topology.roles.clusters
    if cluster not in clusters:
        raise BadInput(f'no cluster "{cluster}"', nearest(cluster, list(clusters)))
    wanted = [name for name in clusters[cluster] if name in lab.topology.proxies and broker in (None, name)]
    if not wanted:
        raise BadInput(
            f'the link does not lead to broker "{broker}" of cluster "{cluster}"',
            nearest(broker or "", clusters[cluster]),
        )
    url = f"http://{lab.address(link)}"
    with Toxiproxy(url) as toxiproxy:
        proxies = toxiproxy.proxies()
    if off := [name for name in wanted if name not in proxies or not proxies[name].enabled]:
        raise BadInput(f'the link to "{off[0]}" is cut already', '"lab fault heal" undoes what the lab did')
    ways = tuple(
        Way(
            broker=name,
            node_id=lab.topology.services[name].environment["KAFKA_NODE_ID"],
            through=f"127.0.0.1:{lab.ports[lab.topology.proxies[name].variable]}",
            direct=lab.address(name),
        )
        for name in wanted
    )
    return Link(url=url, ways=ways)


@dataclass(frozen=True, kw_only=True)
class Clear(Inverse):
    """Take away a fault's own toxics; others stay."""

    url: str
    proxies: tuple[str, ...]
    toxics: tuple[str, ...]

    def undo(self) -> None:
        with Toxiproxy(self.url) as toxiproxy:
            for proxy in self.proxies:
                for toxic in self.toxics:
                    toxiproxy.remove(proxy, toxic)

    def prove(self) -> str:
        with Toxiproxy(self.url) as toxiproxy:
            there = toxiproxy.proxies()
        for proxy in self.proxies:
            if left := set(self.toxics) & set(there[proxy].toxics if proxy in there else ()):
                raise LinkError(f'the link to "{proxy}" still has {sorted(left)}', '"lab fault heal" again')
        return f"no toxic of the fault on {len(self.proxies)} proxies"


@dataclass(frozen=True, kw_only=True)
class Poisoned:
    """The act of a fault that is made of toxics, which each way through the link has to show."""

    what: str
    link: Link
    toxics: tuple[Toxic, ...]
    prove_one: Callable[[Way], str]

    @property
    def inverse(self) -> Clear:
        proxies = tuple(way.broker for way in self.link.ways)
        toxics = tuple(toxic.name for toxic in self.toxics)
        return Clear(url=self.link.url, proxies=proxies, toxics=toxics)

    def inject(self) -> None:
        self.link.poison(self.toxics)

    def prove(self) -> str:
        self.link.require_poisoned(self.toxics)
        return "; ".join(self.link.each(self.prove_one))


@dataclass(frozen=True, kw_only=True)
class SwitchOn(Inverse):
    """Proxies that were on are on again, and let their brokers answer."""

    url: str
    proxies: tuple[str, ...]

    def undo(self) -> None:
        with Toxiproxy(self.url) as toxiproxy:
            for proxy in self.proxies:
                toxiproxy.switch(proxy, enabled=True)

    def prove(self) -> str:
        def observe() -> str | NotYet:
            with Toxiproxy(self.url) as toxiproxy:
                there = toxiproxy.proxies()
            off = [proxy for proxy in self.proxies if proxy not in there or not there[proxy].enabled]
            return NotYet(f"off: {', '.join(off)}") if off else f"{len(self.proxies)} proxies are on"

        return wait_until(observe, timeout_s=FAULT_SHOWS_S, what="the proxies are on", pause_s=0.2)
