"""A lab gives its parts by name, and names the nearest to one that it has not."""

import pytest

from lab.errors import BadInput
from lab.harness import Lab, Wish
from tests.harness.conftest import Engine

WISH = Wish(topology="basic-mirror", name="a")


def test_a_labs_parts_are_asked_for_by_name(fake: Engine) -> None:
    lab = Lab.up(WISH)

    assert lab.source is lab.cluster("source")
    assert lab.target.bootstrap == f"127.0.0.1:{lab.ports['BROKER2_PORT']}"
    assert lab.internal_bootstrap("source") == "broker:29092"
    assert lab.connector("test_mirror", topics="orders").config["topics"] == "orders"
    assert {endpoint.service: endpoint.what for endpoint in lab.endpoints()} == {
        "zookeeper": "ZooKeeper",
        "zookeeper2": "ZooKeeper",
        "broker": "cluster source",
        "broker2": "cluster target",
        "connect": "Connect REST",
        "spark": "Spark Connect",
    }


def test_a_part_that_a_lab_has_not_names_the_nearest(fake: Engine) -> None:
    lab = Lab.up(WISH)

    for call, message, hint in (
        (lambda: lab.cluster("sorce"), 'topology "basic-mirror" has no cluster "sorce"', "source"),
        (lambda: lab.address("brokr"), 'lab "a" has no service "brokr"', "broker"),
        (
            lambda: lab.connector("test_miror"),
            'topology "basic-mirror" has no connector "test_miror"',
            "test_mirror",
        ),
    ):
        with pytest.raises(BadInput) as caught:
            call()
        assert (caught.value.message, caught.value.hint) == (message, f'did you mean "{hint}"?')
