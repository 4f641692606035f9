"""A cut link: connections are closed, and new ones refused."""

from dataclasses import dataclass
from typing import ClassVar, Final

from lab.faults import probes
from lab.faults.fault import FaultNotObserved, Ground, Mark
from lab.faults.link import Link, SwitchOn, Way, link_to
from lab.faults.probes import Answer
from lab.toxiproxy import Toxiproxy

_ANSWERS_S: Final = 5.0


@dataclass(frozen=True, kw_only=True)
class CutLink:
    """Close the link to a cluster, or to one broker, as when a line is down and routers know it."""

    name: ClassVar[str] = "cut-link"
    images: ClassVar[tuple[str, ...]] = ()
    lasts: ClassVar[bool] = True

    cluster: str
    broker: str | None = None

    def check(self, lab: Ground, mark: Mark) -> "Cutting":
        return Cutting(link_to(lab, self.cluster, self.broker))


@dataclass(frozen=True)
class Cutting:
    link: Link

    @property
    def what(self) -> str:
        return f"cut link to {self.link.brokers}"

    @property
    def inverse(self) -> SwitchOn:
        return SwitchOn(url=self.link.url, proxies=tuple(way.broker for way in self.link.ways))

    def inject(self) -> None:
        with Toxiproxy(self.link.url) as toxiproxy:
            for way in self.link.ways:
                toxiproxy.switch(way.broker, enabled=False)

    def prove(self) -> str:
        return "; ".join(self.link.each(self._prove_one))

    def _prove_one(self, way: Way) -> str:
        question = probes.kafka_request()
        if probes.ask(way.through, question, timeout_s=_ANSWERS_S) is Answer.SAID:
            raise FaultNotObserved(f'broker "{way.broker}" answers through the link')
        if probes.ask(way.direct, question, timeout_s=_ANSWERS_S) is not Answer.SAID:
            raise FaultNotObserved(
                f'broker "{way.broker}" does not answer past the link either', "what else is broken?"
            )
        return f"{way.broker}: no answer through the link, one past it"
