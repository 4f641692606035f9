"""What counts as deployed: RUNNING with all its tasks and the file's config, and nothing less."""

import pytest

from lab.mm2 import Connector
from lab.mm2_keys import is_secret
from lab.mm2_plan import Difference, Plan, differences, plan
from lab.mm2_status import Deployed, Status, Task

CONFIG = {"connector.class": "MirrorSource", "topics": "orders", "tasks.max": "2"}
ORDERS = Connector(name="orders", config=CONFIG)
LIVE = {**CONFIG, "name": "orders"}  # the worker adds the name


def status(state: str = "RUNNING", *tasks: str) -> Status:
    return Status(
        name="orders",
        connector_class="MirrorSource",
        state=state,
        worker="w",
        tasks=tuple(Task(id=number, state=one, worker="w") for number, one in enumerate(tasks)),
    )


def test_what_is_not_there_is_created() -> None:
    assert plan(ORDERS, None) == Plan(connector=ORDERS, create=True)
    assert plan(ORDERS, None).said == "deployed"


@pytest.mark.parametrize(
    "its",
    [status("RUNNING", "RUNNING", "RUNNING"), status("RUNNING"), status("UNASSIGNED", "UNASSIGNED"), None],
    ids=["runs", "has no tasks", "waits for a worker", "was created this moment"],
)
def test_what_runs_as_its_file_says_or_will_is_left_alone(its: Status | None) -> None:
    found = plan(ORDERS, Deployed(config=LIVE, status=its))

    assert found == Plan(connector=ORDERS)
    assert found.said == "already deployed"


@pytest.mark.parametrize(
    ("its", "parts", "said"),
    [
        (status("RUNNING", "RUNNING", "FAILED"), (1,), "restarted failed task 1"),
        (status("RUNNING", "FAILED", "FAILED"), (0, 1), "restarted failed task 0 and failed task 1"),
        (status("FAILED"), (None,), "restarted failed connector"),
        (status("FAILED", "FAILED"), (None, 0), "restarted failed connector and failed task 0"),
    ],
)
def test_what_failed_is_not_deployed(its: Status, parts: tuple[int | None, ...], said: str) -> None:
    found = plan(ORDERS, Deployed(config=LIVE, status=its))

    assert found.restart == parts
    assert found.said == said


@pytest.mark.parametrize("its", [status("RUNNING", "RUNNING"), status("RUNNING", "FAILED")])
def test_an_edited_file_is_not_deployed_and_its_keys_are_named(its: Status) -> None:
    live = {**LIVE, "topics": "other", "offset.lag.max": "0"}
    found = plan(ORDERS, Deployed(config=live, status=its))

    assert found == Plan(connector=ORDERS, changed=("offset.lag.max", "topics"))
    assert found.said == "changed: offset.lag.max, topics"


@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
def test_what_was_paused_goes_on(state: str) -> None:
    assert plan(ORDERS, Deployed(config=LIVE, status=status(state, state))).said == "resumed"
    edited = Deployed(config={**LIVE, "topics": "x"}, status=status(state, state))
    assert plan(ORDERS, edited).said == "changed: topics; resumed"


def test_differences_are_values_keys_of_one_side_and_not_the_name() -> None:
    assert differences(ORDERS, LIVE) == ()
    assert differences(ORDERS, {"name": "x", "tasks.max": "1", "topics": "orders", "groups": "g"}) == (
        Difference(key="connector.class", file="MirrorSource", live=None),
        Difference(key="groups", file=None, live="g"),
        Difference(key="tasks.max", file="2", live="1"),
    )


@pytest.mark.parametrize(
    "key",
    [
        "source.cluster.sasl.jaas.config",
        "target.cluster.ssl.key.password",
        "ssl.keystore.key",
        "source.admin.ssl.truststore.password",
    ],
)
def test_a_secret_is_not_shown(key: str) -> None:
    assert Difference(key=key, file="hunter2", live=None).shown == ("(secret)", "(not given)")
    assert Difference(key=key, file=None, live="hunter2").shown == ("(not given)", "(secret)")


def test_other_values_are_shown() -> None:
    assert Difference(key="topics", file="a", live=None).shown == ("a", "(not given)")
    assert Difference(key="topics", file=None, live="b").shown == ("(not given)", "b")


def test_a_providers_name_makes_no_secret() -> None:
    assert not is_secret("config.providers.secrets.class")
    assert is_secret("config.providers.vault.param.secret")
