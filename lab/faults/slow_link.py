"""A slow link: the other cluster is far away."""

from dataclasses import dataclass
from statistics import median
from typing import ClassVar, Final

from lab.errors import BadInput
from lab.faults import probes
from lab.faults.fault import FaultNotObserved, Ground, Mark
from lab.faults.link import Poisoned, Way, link_to
from lab.toxiproxy import Toxic

PROBES: Final = 20
_ENOUGH: Final = 0.8  # of what was asked for
_ANSWERS_S: Final = 5.0
_LONGEST_MS: Final = 10_000  # twenty of them, twice, within the usual limit of ten minutes


@dataclass(frozen=True, kw_only=True)
class SlowLink:
    """Let every answer through the link come later by `delay_ms`, give or take `jitter_ms`."""

    name: ClassVar[str] = "slow-link"
    images: ClassVar[tuple[str, ...]] = ()
    lasts: ClassVar[bool] = True

    cluster: str
    delay_ms: int
    jitter_ms: int = 0
    broker: str | None = None

    def check(self, lab: Ground, mark: Mark) -> Poisoned:
        if not 0 < self.delay_ms <= _LONGEST_MS or not 0 <= self.jitter_ms <= self.delay_ms / 2:
            raise BadInput(
                f"a delay of {self.delay_ms} ms with a jitter of {self.jitter_ms} ms cannot be proved",
                f"a delay of up to {_LONGEST_MS} ms, and at most half of it as jitter",
            )
        link = link_to(lab, self.cluster, self.broker)
        attributes = {"latency": self.delay_ms, "jitter": self.jitter_ms}
        toxic = Toxic(name=f"lab-{mark.id}", type="latency", attributes=attributes)
        what = f"slow link to {link.brokers}: {self.delay_ms} ms"
        return Poisoned(what=what, link=link, toxics=(toxic,), prove_one=self._prove_one)

    def _prove_one(self, way: Way) -> str:
        timeout_s = _ANSWERS_S + 3 * self.delay_ms / 1000
        through = probes.round_trips(way.through, count=PROBES, timeout_s=timeout_s)
        direct = probes.round_trips(way.direct, count=PROBES, timeout_s=timeout_s)
        if len(through) < PROBES or len(direct) < PROBES:
            raise FaultNotObserved(
                f'of {PROBES} probes of broker "{way.broker}" {len(through)} were answered through the link, '
                f"and {len(direct)} past it",
                'is the broker up? "lab status" tells',
            )
        slow_ms, control_ms = (1000 * median(taken) for taken in (through, direct))
        least_ms = _ENOUGH * self.delay_ms - self.jitter_ms / 2  # which is as often less as it is more
        if slow_ms - control_ms < least_ms:
            raise FaultNotObserved(
                f'the link to "{way.broker}" takes {slow_ms:.0f} ms, the way past it {control_ms:.0f} ms: '
                f"less than {least_ms:.0f} ms more"
            )
        return f"{way.broker}: {slow_ms:.0f} ms through the link, {control_ms:.1f} ms past it"
