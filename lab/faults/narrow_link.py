"""A narrow link: fewer bytes per second than are written."""

from dataclasses import dataclass
from typing import ClassVar, Final

from lab.errors import BadInput
from lab.faults import probes
from lab.faults.fault import FaultNotObserved, Ground, Mark
from lab.faults.link import BOTH_WAYS, Poisoned, Way, link_to
from lab.toxiproxy import Toxic

KB: Final = 1000  # as Toxiproxy counts
_WITHIN: Final = 2.0
_MEASURED_S: Final = 2.0
_SMALLEST_BYTES: Final = 150_000  # below it the measure is of chunks, not of a rate


@dataclass(frozen=True, kw_only=True)
class NarrowLink:
    """Let no more than `rate_kb_per_s` through the link, each way and per connection."""

    name: ClassVar[str] = "narrow-link"
    images: ClassVar[tuple[str, ...]] = ()
    lasts: ClassVar[bool] = True

    cluster: str
    rate_kb_per_s: int
    broker: str | None = None

    def check(self, lab: Ground, mark: Mark) -> Poisoned:
        if not 4 <= self.rate_kb_per_s <= 10_000:
            raise BadInput(
                f"{self.rate_kb_per_s} KB/s cannot be proved",
                "from 4 to 10000: what is slower takes minutes, what is faster this host may not be itself",
            )
        link = link_to(lab, self.cluster, self.broker)
        toxics = tuple(
            Toxic(
                name=f"lab-{mark.id}-{way}",
                type="bandwidth",
                stream=way,
                attributes={"rate": self.rate_kb_per_s},
            )
            for way in BOTH_WAYS
        )
        what = f"narrow link to {link.brokers}: {self.rate_kb_per_s} KB/s"
        return Poisoned(what=what, link=link, toxics=toxics, prove_one=self._prove_one)

    def _prove_one(self, way: Way) -> str:
        rate = self.rate_kb_per_s * KB
        size = max(int(rate * _MEASURED_S), _SMALLEST_BYTES)
        timeout_s = 5 + 3 * size / rate
        up = probes.rate_up(way.through, at_least_bytes=size, timeout_s=timeout_s)
        down = probes.rate_down(way.through, way.node_id, at_least_bytes=size, timeout_s=timeout_s)
        told = f"{way.broker}: {up / KB:.0f} KB/s up, {down / KB:.0f} KB/s down"
        if not all(rate / _WITHIN <= measured <= rate * _WITHIN for measured in (up, down)):
            raise FaultNotObserved(f"the link is not as narrow as asked, {self.rate_kb_per_s} KB/s: {told}")
        return told
