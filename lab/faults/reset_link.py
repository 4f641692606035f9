"""A link that resets connections, as a firewall or a load balancer may that has lost its state."""

from dataclasses import dataclass
from typing import ClassVar, Final

from lab.errors import BadInput
from lab.faults import probes
from lab.faults.fault import FaultNotObserved, Ground, Mark
from lab.faults.link import BOTH_WAYS, Poisoned, Way, link_to
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

    def check(self, lab: Ground, mark: Mark) -> Poisoned:
        if not 0.2 <= self.fraction <= 1:
            raise BadInput(f"a fraction of {self.fraction:g} cannot be proved", "from 0.2 to 1, which is all")
        link = link_to(lab, self.cluster, self.broker)
        toxic = Toxic(
            name=f"lab-{mark.id}",
            type="reset_peer",
            stream=BOTH_WAYS[0],
            fraction=self.fraction,
            attributes={"timeout": 0},
        )
        what = f"reset link to {link.brokers}: {self.fraction:.0%} of connections"
        return Poisoned(what=what, link=link, toxics=(toxic,), prove_one=self._prove_one)

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
        if reset < max(1, _FEWEST * self.fraction * PROBES):
            raise FaultNotObserved(f'{reset} of {PROBES} connections to "{way.broker}" were reset')
        return f"{way.broker}: {reset} of {PROBES} connections reset, none past the link"
