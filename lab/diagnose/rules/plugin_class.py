"""A class that MM2 was told to use is not there: a connector, a policy, a filter, a converter, …

Connect refuses such a config with an error; a dedicated MM2 logs it once, when it starts, and then runs
without the connector, or ends. Kafka before 3 said of every connector on the class path that it had no plugin
class loader; that line alone is harmless.
"""

import re
from collections.abc import Iterator
from typing import Final

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import Observation

_MISSING: Final = re.compile(
    r"for configuration (?P<key>[\w.]+): Class (?P<a>[\w.$]+) could not be found"
    r"|Failed to find any class that implements (?P<kind>\w+) and which name matches (?P<b>[\w.$]+)"
    r"|Could not load config provider class (?P<c>[\w.$]+)"
    r"|ClassNotFoundException: (?P<d>[\w.$]+)"
)
_OLD: Final = re.compile(r"Plugin class loader for \w+: '(?P<name>[\w.$]+)' was not found")


def look(seen: Observation) -> Iterator[Finding]:
    told: set[str] = set()
    for one, part, match in seen.failed(_MISSING):
        yield from _missing(match, f'{part} of connector "{one.name}" FAILED', told)
    for said in seen.said(_MISSING, within=None):
        yield from _missing(said.match, str(said), told)
    for said in seen.said(_OLD, within=None):
        if (name := said.match["name"]) not in told:
            told.add(name)
            yield Finding(
                likelihood=Likelihood.POSSIBLE,
                what=f"a worker of Kafka 2 found {name} on its class path and not among its plugins",
                evidence=(str(said),),
                remedy="nothing, if the connector's tasks run. Otherwise put MM2's jars where the worker "
                "looks: on "
                "its class path (libs), or into a folder of plugin.path, and not both",
            )


def _missing(match: re.Match[str], evidence: str, told: set[str]) -> Iterator[Finding]:
    name = next(match[group] for group in "abcd" if match[group])
    if name in told:
        return
    told.add(name)
    what = match["key"] or match["kind"]
    yield Finding(
        likelihood=Likelihood.CERTAIN,
        what=f"the class {name}{f' ({what})' if what else ''} is not there for MM2",
        evidence=(evidence,),
        remedy="mend the name, or put its jar on the class path of MM2 (Kafka's libs). A replication "
        "policy on "
        "plugin.path is not found while MM2 itself is on the class path. Then restart MM2",
    )
