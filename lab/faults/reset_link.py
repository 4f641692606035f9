"""A link that resets connections, as a firewall or a load balancer may that has lost its state."""

from dataclasses import dataclass
from typing import ClassVar, Final

from lab.errors import BadInput
from lab.faults import probes
from lab.faults.fault import FaultNotObserved, Ground, Mark
from lab.faults.link import BOTH_WAYS, Clear, Link, Way, clear, link_to
from lab.faults.probes import Answer
from lab.toxiproxy import Toxic

PROBES: Final = 20
_ANSWERS_S: Final = 5.0
_FEWEST: Final = 0.25  # of those that should be reset: which are, is left to chance


@dataclass(frozen=True, kw_only=True)
class ResetLink:
    """Reset a `fraction` of the connections through the link as soon as anything is sent."""

    name: ClassVar[str] = "reset-link"
    images: ClassVar[tuple[str, ...]] = ()
    lasts: ClassVar[bool] = True

    cluster: str
    fraction: float = 1.0
    broker: str | None = None

    def check(self, lab: Ground, mark: Mark) -> "Resetting":
        if not 0.2 <= self.fraction <= 1:
            raise BadInput(f"a fraction of {self.fraction:g} cannot be proved", "from 0.2 to 1, which is all")
        link = link_to(lab, self.cluster, self.broker)
        name = f"lab-{mark.id}"
        toxics = (
            Toxic(
                name=name,
                type="reset_peer",
                stream=BOTH_WAYS[0],
                fraction=self.fraction,
                attributes={"timeout": 0},
            ),
        )
        return Resetting(self, link, toxics)


@dataclass(frozen=True)
class Resetting:
    asked: ResetLink
    link: Link
    toxics: tuple[Toxic, ...]

    @property
    def what(self) -> str:
        return f"reset link to {self.link.brokers}: {self.asked.fraction:.0%} of connections"

    @property
    def inverse(self) -> Clear:
        return clear(self.link, self.toxics)

    def inject(self) -> None:
        self.link.poison(self.toxics)

    def prove(self) -> str:
        self.link.require_poisoned(self.toxics)
        return "; ".join(self.link.each(self._prove_one))

    def _prove_one(self, way: Way) -> str:
        question = probes.kafka_request()
        through = probes.ask_all([way.through] * PROBES, question, timeout_s=_ANSWERS_S)
        direct = probes.ask_all([way.direct] * PROBES, question, timeout_s=_ANSWERS_S)
        reset, control = (answers.count(Answer.ENDED) for answers in (through, direct))
        if control:
            raise FaultNotObserved(
                f'broker "{way.broker}" ends {control} of {PROBES} connections past the link, too',
                "what else is broken?",
            )
        if reset < max(1, _FEWEST * self.asked.fraction * PROBES):
            raise FaultNotObserved(f'{reset} of {PROBES} connections to "{way.broker}" were reset')
        return f"{way.broker}: {reset} of {PROBES} connections reset, none past the link"
