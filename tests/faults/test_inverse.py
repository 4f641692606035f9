"""What undoes a fault survives being written down."""

import json

import pytest

from lab.errors import LabError
from lab.faults.containers import StartAgain
from lab.faults.disk import Free
from lab.faults.inverse import Inverse, Nothing, decode, encode
from lab.faults.link import Clear, SwitchOn
from lab.faults.packets import Rejoin
from lab.faults.recreate_topic import CreateAgain
from lab.faults.topic_limit import RestoreLimit

INVERSES = [
    StartAgain(containers=("a", "b")),
    Nothing(why="gone"),
    Clear(url="http://127.0.0.1:1", proxies=("a",), toxics=("t", "u")),
    SwitchOn(url="http://127.0.0.1:1", proxies=("a",)),
    Rejoin(
        project="p",
        fault="f",
        image="i",
        containers=("a",),
        others=("b",),
        doors=(("10.0.0.1", "9092"),),
    ),
    CreateAgain(
        alias="source",
        bootstrap="127.0.0.1:1",
        topic="t",
        partitions=2,
        replicas=1,
        configs=(("retention.ms", "7"),),
    ),
    Free(project="p", fault="f", image="i", volume="v", size_mib=192, container="c"),
    RestoreLimit(alias="source", bootstrap="127.0.0.1:1", topic="t", value=None),
]


@pytest.mark.parametrize("inverse", INVERSES, ids=lambda inverse: type(inverse).__name__)
def test_an_inverse_is_read_as_it_was_written(inverse: Inverse) -> None:
    assert decode(json.loads(json.dumps(encode(inverse)))) == inverse


def test_every_kind_is_tried_here() -> None:
    assert {type(inverse) for inverse in INVERSES} == {
        kind for kind in Inverse.kinds.values() if kind.__module__.startswith("lab.")
    }


@pytest.mark.parametrize("written", [{"kind": "Unheard"}, {"kind": "Nothing", "whose": "?"}, {}])
def test_what_cannot_be_read_is_an_error_that_says_what_to_do(written: dict[str, str]) -> None:
    with pytest.raises(LabError) as caught:
        decode(written)

    assert caught.value.message.startswith("a fault's inverse cannot be read")
    assert caught.value.hint == 'bring the lab down: "lab down"'
