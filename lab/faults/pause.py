"""Pause: a process stands still and does not know it, as in a long garbage collection; others wait for it."""

from dataclasses import dataclass
from typing import ClassVar, Final

from lab import engine
from lab.errors import BadInput
from lab.faults import containers, probes
from lab.faults.containers import Box, StartAgain
from lab.faults.fault import FaultNotObserved, Ground, Mark
from lab.faults.probes import Answer
from lab.faults.victims import Victim

_LONGEST_ANSWER_S: Final = 5.0


@dataclass(frozen=True, kw_only=True)
class Pause:
    """Freeze services where they are; undone by letting them go on."""

    name: ClassVar[str] = "pause"
    images: ClassVar[tuple[str, ...]] = ()
    lasts: ClassVar[bool] = True

    victim: Victim

    def check(self, lab: Ground, mark: Mark) -> "Pausing":
        boxes = containers.of_victim(lab, self.victim)
        asked = {}
        for box in boxes:
            question = probes.question_for(lab.topology, box.service)
            if question is not None:
                asked[box.service] = (lab.address(box.service), question)
        for service, (address, question) in asked.items():
            if probes.ask(address, question, timeout_s=_LONGEST_ANSWER_S) is not Answer.SAID:
                raise BadInput(f'service "{service}" does not answer before it is paused', 'see "lab status"')
        return Pausing(boxes, asked)


@dataclass(frozen=True)
class Pausing:
    boxes: list[Box]
    asked: dict[str, tuple[str, bytes]]  # by service, where it answers what

    @property
    def what(self) -> str:
        return f"pause {containers.names(self.boxes)}"

    @property
    def inverse(self) -> StartAgain:
        return containers.start_again(self.boxes)

    def inject(self) -> None:
        engine.docker("pause", *(box.id for box in self.boxes))

    def prove(self) -> str:
        seen = containers.look(tuple(box.id for box in self.boxes))
        awake = [box for box in seen if not box.paused]
        if awake or len(seen) < len(self.boxes):
            raise FaultNotObserved(
                f"not paused: {', '.join(map(str, awake)) or 'a container is gone'}", "who let it go on?"
            )
        for service, (address, question) in self.asked.items():
            if (answer := probes.ask(address, question)) is not Answer.SILENT:
                raise FaultNotObserved(
                    f'service "{service}" is paused and not silent: it {answer}', "is the address its own?"
                )
        silent = f"; no answer of {', '.join(self.asked)}" if self.asked else ""
        return ", ".join(map(str, seen)) + silent
