"""A trouble that was planted: diagnosed, its remedy carried out, and records flowing again."""

import shlex
import time
from collections.abc import Sequence
from typing import Final

from lab.diagnose import Finding, diagnose
from lab.harness import Lab
from lab.harness.observing import observe
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until
from scenarios.commands import lab_command

SHOWS_S: Final = 120.0  # until a trouble has led to what shows it
OVER_S: Final = 120.0  # until what was logged of it is old


class Doctor:
    """Asks `diagnose`, and notes in the scenario's run how long each answer took."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def findings(self) -> list[Finding]:
        begin = time.monotonic()
        found = diagnose(observe(self.lab))
        if self.lab.run is not None:
            with (self.lab.run.path / "diagnoses.txt").open("a") as file:
                file.write(
                    f"{time.monotonic() - begin:.2f} s: {', '.join(f.rule for f in found) or 'nothing'}\n"
                )
        return found

    def says(self, rule: str, words: str = "", *, shows: str = "") -> Finding:
        """Waits until the rule is named first or second, with these words, and those in its evidence."""

        def observe_it() -> Finding | NotYet:
            found = self.findings()[:2]
            for finding in found:
                if finding.rule == rule and words in finding.what and shows in "\n".join(finding.evidence):
                    return finding
            return NotYet(_told(found) or "nothing")

        return wait_until(observe_it, timeout_s=SHOWS_S, what=f'"{rule}" first or second', pause_s=1.0)

    def says_nothing(self) -> None:
        def observe_it() -> bool | NotYet:
            found = self.findings()
            return not found or NotYet(_told(found))

        wait_until(observe_it, timeout_s=OVER_S, what="nothing is found", pause_s=1.0)

    def carry_out(self, finding: Finding) -> None:
        """The commands of a remedy, as they stand there."""
        assert finding.commands, finding.remedy
        for command in finding.commands:
            program, *arguments = shlex.split(command)
            assert program == "lab"
            done = lab_command(*arguments, "--name", self.lab.name)
            assert done.code == 0, (command, done.err)


def _told(found: Sequence[Finding]) -> str:
    return "; ".join(f"{finding.rule}: {finding.what} {finding.evidence}" for finding in found)


def send(lab: Lab, topic: str, value: bytes = b"record", **producer: object) -> int:
    """One more record; how many there are now."""
    client = lab.source.producer(**producer)
    client.produce(topic, value=value, headers={"binary": b"\x00\xff"})
    assert client.flush(RECORDS_ARRIVE_S) == 0
    return sum(offsets.end for offsets in lab.source.offsets(topic).values())


def there(lab: Lab, remote: str) -> int:
    if not lab.target.has_topic(remote):
        return 0
    return sum(offsets.end for offsets in lab.target.offsets(remote).values())


def flows(lab: Lab, topic: str, remote: str) -> None:
    """A record written now arrives, after all before it."""
    sent = send(lab, topic)
    lab.target.wait_for_records(remote, at_least=sent, timeout_s=RECORDS_ARRIVE_S)
