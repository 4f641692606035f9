"""Headers do not go through as bytes: Connect's default header converter makes base64 text of them."""

from collections.abc import Iterator
from typing import Final

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import Observation
from lab.diagnose.places import setting
from lab.mm2 import BYTES_CONVERTER

_KEY: Final = "header.converter"


def look(seen: Observation) -> Iterator[Finding]:
    for one in seen.sources:
        given = one.effective(_KEY)
        if given == BYTES_CONVERTER or (given is None and one.setting is None):
            continue
        words, commands = setting(seen, one, _KEY, BYTES_CONVERTER)
        which = f"{_KEY}={given}" if given else f"{_KEY} is not given: Connect takes SimpleHeaderConverter"
        yield Finding(
            likelihood=Likelihood.CERTAIN,
            what=f'connector "{one.name}" does not leave headers as they are: values that are not text '
            "arrive as base64",
            evidence=(which,),
            remedy=f"{words}; what was mirrored already stays as it is",
            commands=commands,
        )
