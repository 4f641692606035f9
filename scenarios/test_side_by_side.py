"""Two labs of one topology run at once and know nothing of each other.

Claim: the second lab takes other ports, a topic of one is not in the other, and bringing one down
leaves the other as it was.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from lab.harness import Lab, Wish
from scenarios.commands import objects_of

pytestmark = pytest.mark.topology("basic-mirror")


@pytest.fixture(scope="module")
def pair(own: Callable[[str], str]) -> Iterator[tuple[Lab, Lab]]:
    with ExitStack() as held:
        first, second = (
            held.enter_context(closing(Lab.up(Wish(topology="basic-mirror", name=own(f"side-{side}")))))
            for side in "ab"
        )
        yield first, second


def test_their_ports_differ(pair: tuple[Lab, Lab]) -> None:
    first, second = (set(lab.ports.values()) for lab in pair)
    assert len(first) == len(second) == 6
    assert first.isdisjoint(second)


def test_a_topic_of_one_is_not_in_the_other(pair: tuple[Lab, Lab]) -> None:
    first, second = pair
    first.source.create_topic("only-here")
    assert first.source.has_topic("only-here")
    assert not second.source.has_topic("only-here")


def test_one_goes_and_the_other_stays(pair: tuple[Lab, Lab]) -> None:
    first, second = pair
    before = objects_of(second.name)
    first.down()
    assert objects_of(first.name) == []
    assert objects_of(second.name) == before
    assert second.source.brokers() == [second.address("broker")]
