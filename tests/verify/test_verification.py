"""What the checks are told of a flow."""

from typing import cast

import pytest

from lab.kafka import Cluster, Offsets
from lab.mm2 import SOURCE, Connector
from lab.verify.checks import STANDARD, NoPhantoms
from lab.verify.flow import Flow
from lab.verify.verification import _of_records, check_names, of_every_partition, wanted_checks


def flow_with(isolation: str) -> Flow:
    config = {"connector.class": SOURCE, "source.consumer.isolation.level": isolation}
    nowhere = cast(Cluster, None)
    return Flow(
        topic="logs",
        connector=Connector(name="mm2-msc-us", config=config),
        source=nowhere,
        target=nowhere,
        bootstraps={},
    )


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_a_connector_that_reads_committed_owes_no_aborted_record(isolation: str) -> None:
    checks = _of_records(flow_with(isolation), allow_duplicates=False)

    assert [check.name for check in checks] == [check.name for check in STANDARD]
    (phantoms,) = [check for check in checks if check.name == "phantoms"]
    assert phantoms == NoPhantoms(read_committed=isolation == "read_committed")


def test_whatever_is_asked_for_reading_is_judged_too() -> None:
    """Of records that were not read no other check says anything."""
    assert wanted_checks(None) == set(check_names())
    assert wanted_checks(["loss"]) == {"loss", "reading"}
    assert wanted_checks(["acls", "reading"]) == {"acls", "reading"}
    assert wanted_checks([]) == {"reading"}


def test_a_second_reading_names_each_partition() -> None:
    known = {0: Offsets(start=3, end=9), 1: Offsets(start=5, end=7)}

    found = of_every_partition(known, {0: (4, 6)})

    assert found == {0: Offsets(start=4, end=6), 1: Offsets(start=5, end=5)}
