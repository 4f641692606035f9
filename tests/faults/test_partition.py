"""A partition is proved by what is not reached, what still is, and how many packets were dropped."""

import pytest

from lab.engine import EngineError
from lab.errors import BadInput, LabError
from lab.faults import Brokers, FaultNotObserved, FaultNotPossible, Partition, Service, Workers
from tests.faults.conftest import MARK, Engine, FakeLab

PARTITION = Partition(side=Service("kafka-connect-1"), other=Brokers("target"))
SIDECAR = "lab-a-fault-f0-0"


def reaching(fake_engine: Engine, *refused: str, dropped: str = "12") -> None:
    """From within the sidecars."""

    def reach(args: tuple[str, ...]) -> str:
        if args[args.index("reach") + 1] in refused:
            raise EngineError("docker exec failed: exit code 1")
        return ""

    fake_engine.answers |= {"reach": reach, "dropped": lambda _: dropped}


@pytest.fixture
def targets(fake_engine: Engine, lab: FakeLab) -> list[str]:
    return [fake_engine.boxes[f"kafka-target-{n}"].address for n in (1, 2, 3)]


def test_each_way_is_dropped_by_a_sidecar_with_few_rights(
    lab: FakeLab, fake_engine: Engine, targets: list[str]
) -> None:
    act = PARTITION.check(lab, MARK)
    reaching(fake_engine, *targets)
    act.inject()

    (run,) = [args for args in fake_engine.commands("run") if "--detach" in args]
    assert run[run.index("mirror-lab/netfault:1") + 1 :] == (
        *("drop", "f0", "60"),
        *(f"{way} {address}" for address in targets for way in ("-d", "-s")),
    )
    assert run[run.index("--network") + 1] == "container:kafka-connect-1"
    assert [run[n + 1] for n, arg in enumerate(run) if arg in ("--cap-drop", "--cap-add")] == [
        *("ALL", "NET_ADMIN", "NET_RAW")
    ]
    assert {"--privileged", "host", "container:host"}.isdisjoint(run)
    assert not any("docker.sock" in arg or arg == "--volume" for arg in run)
    labels = {run[n + 1] for n, arg in enumerate(run) if arg == "--label"}
    assert {"io.mirror-lab=true", "com.docker.compose.project=lab-a"} <= labels
    assert act.what == "partition kafka-connect-1 ↔ kafka-target-1, kafka-target-2, kafka-target-3"
    assert act.prove() == "kafka-connect-1: 12 packets dropped, kafka-source-1 reached"


def test_one_way_only_what_is_sent_is_dropped(lab: FakeLab, fake_engine: Engine) -> None:
    act = Partition(side=Service("kafka-connect-1"), other=Service("link"), one_way=True).check(lab, MARK)
    act.inject()

    (run,) = [args for args in fake_engine.commands("run") if "--detach" in args]
    assert [arg for arg in run if arg.startswith(("-d ", "-s "))] == [
        f"-d {fake_engine.boxes['link'].address}"
    ]
    assert act.what == "partition kafka-connect-1 → link"


def test_a_side_that_still_reaches_the_other_is_not_cut_off(lab: FakeLab, fake_engine: Engine) -> None:
    act = PARTITION.check(lab, MARK)
    reaching(fake_engine)
    act.inject()

    with pytest.raises(
        FaultNotObserved, match=r'^service "kafka-connect-1" still reaches 10\.0\.0\.\d:9094$'
    ):
        act.prove()


def test_a_side_that_reaches_nobody_has_lost_more_than_the_other(
    lab: FakeLab, fake_engine: Engine, targets: list[str]
) -> None:
    act = PARTITION.check(lab, MARK)
    reaching(fake_engine, *targets, *(box.address for box in fake_engine.boxes.values()))
    act.inject()

    with pytest.raises(FaultNotObserved, match="reaches nobody on neither side"):
        act.prove()


def test_of_the_others_one_is_enough(lab: FakeLab, fake_engine: Engine, targets: list[str]) -> None:
    act = PARTITION.check(lab, MARK)
    reaching(fake_engine, *targets, fake_engine.boxes["kafka-source-1"].address)
    act.inject()

    assert act.prove() == "kafka-connect-1: 12 packets dropped, kafka-source-2 reached"


def test_without_a_dropped_packet_it_was_something_else(
    lab: FakeLab, fake_engine: Engine, targets: list[str]
) -> None:
    act = PARTITION.check(lab, MARK)
    reaching(fake_engine, *targets, dropped="0")
    act.inject()

    with pytest.raises(FaultNotObserved, match="no packet of service"):
        act.prove()


def test_a_service_that_was_restarted_has_left_the_partition(
    lab: FakeLab, fake_engine: Engine, targets: list[str]
) -> None:
    act = PARTITION.check(lab, MARK)
    reaching(fake_engine, *targets)
    act.inject()
    fake_engine.docker("start", "kafka-connect-1")

    with pytest.raises(FaultNotObserved, match="was started again, outside of the partition"):
        act.prove()


def test_it_is_healed_by_its_sidecar_and_once_more_without_it(lab: FakeLab, fake_engine: Engine) -> None:
    act = PARTITION.check(lab, MARK)
    act.inject()
    before = len(fake_engine.said)

    act.inverse.undo()

    stop, remove, heal = fake_engine.said[before:]
    assert (stop[0], stop[-1]) == ("stop", SIDECAR)
    assert (remove[0], remove[-1]) == ("rm", SIDECAR)
    assert (heal[:2], heal[-2:]) == (("run", "--rm"), ("heal", "f0"))
    assert "reached" in act.inverse.prove()


def test_it_is_healed_where_its_sidecar_has_gone(lab: FakeLab, fake_engine: Engine) -> None:
    act = PARTITION.check(lab, MARK)

    act.inverse.undo()

    assert fake_engine.said[-1][-2:] == ("heal", "f0")


def test_a_container_that_ended_took_its_rules_with_it(lab: FakeLab, fake_engine: Engine) -> None:
    act = PARTITION.check(lab, MARK)
    act.inject()
    fake_engine.docker("kill", "kafka-connect-1")

    act.inverse.undo()

    assert "heal" not in fake_engine.said[-1]
    assert act.inverse.prove() == "the containers that had rules have ended"


def test_rules_that_are_left_are_not_healed(lab: FakeLab, fake_engine: Engine) -> None:
    act = PARTITION.check(lab, MARK)
    act.inject()
    fake_engine.answers["rules"] = lambda _: "-A OUTPUT -j LABFAULT-f0\n"

    with pytest.raises(LabError, match="packets are still dropped: -A OUTPUT -j LABFAULT-f0"):
        act.inverse.prove()


def test_whom_the_other_side_has_lost_meanwhile_need_not_be_reached(
    lab: FakeLab, fake_engine: Engine, targets: list[str]
) -> None:
    act = PARTITION.check(lab, MARK)
    act.inject()
    fake_engine.boxes["kafka-target-1"].state = "exited"
    fake_engine.boxes["kafka-target-2"].address = "10.0.0.99"  # started again, elsewhere
    reaching(fake_engine, *targets[:2])

    assert act.inverse.prove() == f"no rule is left, {targets[2]}:9094 reached"


def test_an_engine_that_fails_says_nothing_of_the_kernel(lab: FakeLab, fake_engine: Engine) -> None:
    def fail(_: tuple[str, ...]) -> str:
        raise EngineError("docker run failed: no such image")

    fake_engine.answers["try"] = fail

    with pytest.raises(EngineError, match="no such image"):
        PARTITION.check(lab, MARK)


def test_a_kernel_that_cannot_is_found_before_anything_is_done(lab: FakeLab, fake_engine: Engine) -> None:
    fake_engine.answers["try"] = lambda _: "iptables: Failed to initialize nft\n"

    with pytest.raises(FaultNotPossible) as caught:
        PARTITION.check(lab, MARK)

    assert caught.value.message.startswith("this machine's kernel cannot drop packets of one container")
    assert caught.value.exit_code == 4


def test_a_service_is_on_one_side(lab: FakeLab) -> None:
    with pytest.raises(BadInput, match='"kafka-connect-1" is on both sides'):
        Partition(side=Service("kafka-connect-1"), other=Workers()).check(lab, MARK)
