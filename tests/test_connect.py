"""Connect's REST API: what it refuses is an error with its words, and only a rebalance is asked again."""

import json
from collections.abc import Callable

import httpx
import pytest

from lab.connect import Connect, ConnectError, Objection, Rebalancing
from lab.connect import workers as connect_module
from lab.errors import BadInput
from lab.mm2 import Connector
from lab.mm2_status import Status, Task
from lab.wait import TimedOut

URL = "http://127.0.0.1:28082"
CLASS = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
ORDERS = Connector(name="orders", config={"connector.class": CLASS, "topics": "orders"})
NOT_FOUND = {"error_code": 404, "message": "No status found for connector orders"}

Answer = httpx.Response | httpx.TransportError


class Worker:
    """A Connect worker that gives its answers in order, the last one for ever."""

    def __init__(self, *answers: Answer) -> None:
        self.asked: list[httpx.Request] = []
        self._answers = list(answers)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def lines(self) -> list[str]:
        return [f"{request.method} {request.url.raw_path.decode()}" for request in self.asked]


def connect(worker: Worker) -> Connect:
    return Connect(URL, service="kafka-connect-0", transport=httpx.MockTransport(worker))


def status(connector: str = "RUNNING", *tasks: tuple[str, str], trace: str = "") -> dict[str, object]:
    return {
        "name": "orders",
        "connector": {"state": connector, "worker_id": "localhost:28082", "trace": trace},
        "tasks": [
            {"id": id_, "state": state, "worker_id": "localhost:28082", **({"trace": text} if text else {})}
            for id_, (state, text) in enumerate(tasks)
        ],
    }


def tasks(count: int) -> list[dict[str, object]]:
    return [{"id": {"connector": "orders", "task": id_}, "config": {}} for id_ in range(count)]


def ok(body: object) -> httpx.Response:
    return httpx.Response(200, json=body)


@pytest.mark.parametrize("code", [400, 404, 409, 422, 500, 503])
def test_a_status_of_400_or_more_is_an_error_that_says_all(code: int) -> None:
    worker = Worker(httpx.Response(code, json={"error_code": code, "message": "not\n  like this"}))

    with pytest.raises(ConnectError) as caught:
        connect(worker).names()

    assert caught.value.message == f"GET /connectors gave {code}: not like this"
    assert caught.value.status == code
    assert caught.value.exit_code == 1


@pytest.mark.parametrize("body", ["no JSON", '["a list"]', '"a text"', "7", '{"other": 1}'])
def test_a_refusal_in_another_form_is_told_as_it_came(body: str) -> None:
    worker = Worker(httpx.Response(500, text=body))

    with pytest.raises(ConnectError) as caught:
        connect(worker).names()

    assert caught.value.message == f"GET /connectors gave 500: {body}"


def test_an_answer_that_is_no_json_is_an_error_too() -> None:
    worker = Worker(httpx.Response(200, text="<html>I am something else</html>"))

    with pytest.raises(ConnectError, match=r"^GET http://127\.0\.0\.1:28082/connectors "):
        connect(worker).names()


def subclasses(kind: type[httpx.TransportError]) -> list[type[httpx.TransportError]]:
    return [kind, *(below for direct in kind.__subclasses__() for below in subclasses(direct))]


@pytest.mark.parametrize("kind", subclasses(httpx.TransportError), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("words", ["connection refused", ""])
def test_every_transport_error_is_translated(kind: type[httpx.TransportError], words: str) -> None:
    with pytest.raises(ConnectError) as caught:
        connect(Worker(kind(words))).names()

    assert caught.value.message == f"GET {URL}/connectors failed: {words or kind.__name__}"
    assert caught.value.hint == 'is the worker up? "lab status" tells; see "lab logs kafka-connect-0"'
    assert caught.value.status is None
    assert isinstance(caught.value.__cause__, kind)


def test_a_rebalance_is_asked_again_until_it_is_over() -> None:
    rebalance = httpx.Response(409, json={"error_code": 409, "message": "Cannot complete: rebalancing"})
    worker = Worker(rebalance, rebalance, httpx.Response(200, json={}))

    connect(worker).deploy(ORDERS)

    assert worker.lines == ["PUT /connectors/orders/config"] * 3
    assert json.loads(worker.asked[0].content) == ORDERS.config


def test_a_rebalance_is_also_an_error_of_the_worker_itself() -> None:
    told = "Request cannot be completed because a rebalance is expected"
    worker = Worker(
        httpx.Response(500, json={"error_code": 500, "message": told}), ok([{"config": {"task.id": "0"}}])
    )

    assert connect(worker).task_configs("orders") == [{"task.id": "0"}]
    assert worker.lines == ["GET /connectors/orders/tasks"] * 2


def test_a_connector_that_exists_is_no_rebalance() -> None:
    worker = Worker(
        httpx.Response(409, json={"error_code": 409, "message": "Connector orders already exists"})
    )

    with pytest.raises(ConnectError) as caught:
        connect(worker).create(ORDERS)

    assert not isinstance(caught.value, Rebalancing)
    assert caught.value.message == "POST /connectors gave 409: Connector orders already exists"
    assert worker.lines == ["POST /connectors"]
    assert json.loads(worker.asked[0].content) == {"name": "orders", "config": ORDERS.config}


def test_a_refused_deployment_is_not_asked_again() -> None:
    worker = Worker(httpx.Response(400, json={"error_code": 400, "message": "invalid"}))

    with pytest.raises(ConnectError, match=r"^PUT /connectors/orders/config gave 400: invalid$"):
        connect(worker).deploy(ORDERS)

    assert len(worker.asked) == 1


def test_a_slash_in_a_connectors_name_is_no_path() -> None:
    worker = Worker(ok({}))

    connect(worker).delete("a/b?c")

    assert worker.lines == ["DELETE /connectors/a%2Fb%3Fc"]


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda c: c.delete("orders"), "DELETE /connectors/orders"),
        (lambda c: c.pause("orders"), "PUT /connectors/orders/pause"),
        (lambda c: c.resume("orders"), "PUT /connectors/orders/resume"),
        (lambda c: c.stop("orders"), "PUT /connectors/orders/stop"),
        (lambda c: c.restart("orders"), "POST /connectors/orders/restart"),
        (lambda c: c.restart("orders", 0), "POST /connectors/orders/tasks/0/restart"),
        (lambda c: c.reset_offsets("orders"), "DELETE /connectors/orders/offsets"),
    ],
    ids=["delete", "pause", "resume", "stop", "restart", "restart of a task", "reset"],
)
def test_an_empty_answer_is_enough(call: Callable[[Connect], None], line: str) -> None:
    worker = Worker(httpx.Response(204))

    call(connect(worker))

    assert worker.lines == [line]


def test_a_connector_runs_when_it_and_all_its_tasks_do() -> None:
    worker = Worker(
        httpx.Response(404, json=NOT_FOUND),
        httpx.Response(409, json={"error_code": 409, "message": "rebalancing"}),
        ok(status("RUNNING")),
        ok(status("RUNNING", ("RUNNING", ""), ("UNASSIGNED", ""))),
        ok(status("RUNNING", ("RUNNING", ""))),
        ok(tasks(2)),
        ok(status("RUNNING", ("RUNNING", ""), ("RUNNING", ""))),
        ok(tasks(2)),
    )

    found = connect(worker).wait_until_runs("orders")

    assert found.running
    assert found.tasks == (
        Task(id=0, state="RUNNING", worker="localhost:28082"),
        Task(id=1, state="RUNNING", worker="localhost:28082"),
    )
    asked = ["GET /connectors/orders/status"] * 5 + ["GET /connectors/orders/tasks"]
    assert worker.lines == [*asked, *asked[-2:]]


def test_a_connector_that_has_nothing_to_do_runs_without_tasks_if_it_may() -> None:
    worker = Worker(ok(status("RUNNING")), ok(tasks(0)))
    assert connect(worker).wait_until_runs("orders", idle=True).tasks == ()

    worker = Worker(
        ok(status("RUNNING", ("UNASSIGNED", ""))), ok(status("RUNNING", ("RUNNING", ""))), ok(tasks(1))
    )
    assert connect(worker).wait_until_runs("orders", idle=True).running
    assert len(worker.asked) == 3


def test_a_task_that_nobody_has_begun_is_waited_for() -> None:
    worker = Worker(
        *(ok(status("RUNNING")), ok(tasks(1))),
        *(ok(status("RUNNING", ("RUNNING", ""))), ok(tasks(1))),
    )
    assert connect(worker).wait_until_runs("orders", idle=True).running
    assert len(worker.asked) == 4


TRACE = """\
org.apache.kafka.connect.errors.ConnectException: Exiting WorkerSourceTask
\tat org.apache.kafka.connect.runtime.Worker.run(Worker.java:1)
Caused by: org.apache.kafka.common.KafkaException: Failed to construct
\tat java.base/Thread.run(Thread.java:1)
Caused by: org.apache.kafka.common.config.ConfigException: No resolvable bootstrap urls
\tat org.apache.kafka.clients.ClientUtils.parse(ClientUtils.java:1)
"""


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            status("RUNNING", ("RUNNING", ""), ("FAILED", TRACE)),
            "org.apache.kafka.common.config.ConfigException: No resolvable bootstrap urls",
        ),
        (status("FAILED", trace="java.lang.Error: once\n\tat x"), "java.lang.Error: once"),
    ],
    ids=["a task's root cause", "the connector's only line"],
)
def test_a_failure_ends_the_wait_with_its_own_error(answer: dict[str, object], told: str) -> None:
    worker = Worker(ok(answer))

    with pytest.raises(ConnectError) as caught:
        connect(worker).wait_until_runs("orders")

    assert caught.value.message == f'connector "orders" failed: {told}'
    assert caught.value.hint == 'see "lab logs kafka-connect-0"'
    assert len(worker.asked) == 1


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for budget in ("CONNECTOR_RUNS_S", "CONNECTOR_STATE_S"):
        monkeypatch.setattr(connect_module, budget, 0.01)


@pytest.mark.usefixtures("impatient")
def test_a_connector_that_does_not_start_says_what_was_seen() -> None:
    with pytest.raises(TimedOut) as caught:
        connect(Worker(ok(status("RUNNING", ("UNASSIGNED", ""))))).wait_until_runs("orders")

    assert caught.value.message == (
        'not reached in 0.01 s: connector "orders" and its tasks RUNNING; '
        "last seen: connector RUNNING, task 0 UNASSIGNED"
    )
    assert caught.value.hint == 'see "lab logs kafka-connect-0"'


@pytest.mark.usefixtures("impatient")
def test_a_connector_that_never_appears_says_what_the_worker_said() -> None:
    with pytest.raises(TimedOut) as caught:
        connect(Worker(httpx.Response(404, json=NOT_FOUND))).wait_until_runs("orders")

    assert caught.value.message.endswith(
        "last seen: GET /connectors/orders/status gave 404: No status found for connector orders"
    )


def test_a_worker_answers_when_it_knows_that_a_connector_is_not_there() -> None:
    unknown = {"error_code": 404, "message": "Connector lab-healthy not found"}
    worker = Worker(
        httpx.ConnectError("refused"),
        httpx.Response(404),  # of the web server, before the worker's own pages are there
        httpx.Response(503),
        httpx.Response(404, json=unknown),
    )

    connect(worker).wait_until_answers()

    assert worker.lines == ["GET /connectors/lab-healthy/config"] * 4


def test_a_connector_is_forgotten_with_its_offsets_though_a_task_failed_before_it_stopped() -> None:
    worker = Worker(
        *(ok({}), ok(status("STOPPED", ("FAILED", TRACE)))),
        *(ok({}), ok(status("STOPPED")), ok({}), ok({})),
    )

    connect(worker).forget("orders")

    asked = ["PUT /connectors/orders/stop", "GET /connectors/orders/status"]
    assert worker.lines == [
        *(*asked, *asked),
        *("DELETE /connectors/orders/offsets", "DELETE /connectors/orders"),
    ]


def test_a_connector_that_is_not_there_is_forgotten_already() -> None:
    worker = Worker(httpx.Response(404, json=NOT_FOUND), ok([]))

    connect(worker).forget("orders")

    assert worker.lines == ["PUT /connectors/orders/stop", "GET /connectors"]


def test_statuses_carry_class_and_topics_and_leave_out_what_has_none_yet() -> None:
    info = {"config": dict(ORDERS.config)}
    worker = Worker(
        ok({"new": {"info": info}, "orders": {"info": info, "status": status("RUNNING", ("RUNNING", ""))}})
    )

    assert connect(worker).statuses() == [
        Status(
            name="orders",
            connector_class="MirrorSourceConnector",
            state="RUNNING",
            worker="localhost:28082",
            tasks=(Task(id=0, state="RUNNING", worker="localhost:28082"),),
            topics="orders",
        )
    ]
    assert worker.lines == ["GET /connectors?expand=status&expand=info"]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (status("PAUSED"), "connector PAUSED, no tasks"),
        (status("RUNNING", ("FAILED", "E: x")), "connector RUNNING, task 0 FAILED (E: x)"),
    ],
)
def test_a_status_reads_as_one_line(answer: dict[str, object], text: str) -> None:
    assert str(connect(Worker(ok(answer))).status("orders")) == text


def test_validation_gives_every_objection_by_its_key() -> None:
    def entry(name: str, *errors: str) -> dict[str, object]:
        return {"definition": {"name": name}, "value": {"name": name, "errors": list(errors)}}

    worker = Worker(ok({"configs": [entry("topics"), entry("tasks.max", "not a number", "too small")]}))

    assert connect(worker).validate(ORDERS) == [
        Objection(key="tasks.max", message="not a number"),
        Objection(key="tasks.max", message="too small"),
    ]
    assert connect(worker).known_keys(ORDERS) == {"topics", "tasks.max"}
    assert worker.lines[0] == "PUT /connector-plugins/MirrorSourceConnector/config/validate"
    assert json.loads(worker.asked[0].content) == {"name": "orders", **ORDERS.config}


def test_names_versions_and_offsets_are_read() -> None:
    offsets = [{"partition": {"topic": "orders"}, "offset": {"offset": 7}}]

    assert connect(Worker(ok(["b", "a"]))).names() == ["a", "b"]
    assert connect(Worker(ok({"version": "3.9.1", "commit": "x"}))).version() == "3.9.1"
    assert connect(Worker(ok({"offsets": offsets}))).offsets("orders") == offsets


@pytest.mark.parametrize(
    ("call", "doing", "since"),
    [
        (lambda c: c.stop("orders"), "stopping a connector", "3.5"),
        (lambda c: c.offsets("orders"), "reading a connector's offsets", "3.5"),
        (lambda c: c.reset_offsets("orders"), "resetting a connector's offsets", "3.6"),
    ],
    ids=["stop", "offsets", "reset"],
)
@pytest.mark.parametrize("code", [404, 405])
def test_what_an_older_worker_cannot_do_is_said_with_versions(
    call: Callable[[Connect], object], doing: str, since: str, code: int
) -> None:
    worker = Worker(httpx.Response(code), ok(["orders"]), ok({"version": "3.4.0"}))

    with pytest.raises(BadInput) as caught:
        call(connect(worker))

    assert caught.value.message == f"{doing} needs Kafka {since} or later on the workers; this one has 3.4.0"
    assert caught.value.hint == '"lab up --kafka VERSION" starts another'


def test_a_connector_that_is_not_there_is_no_question_of_versions() -> None:
    worker = Worker(httpx.Response(404, json=NOT_FOUND), ok(["other"]))

    with pytest.raises(ConnectError, match=r"gave 404: No status found for connector orders$"):
        connect(worker).offsets("orders")


@pytest.mark.parametrize(
    ("state", "seen"),
    [
        ("PAUSED", status("PAUSED", ("PAUSED", ""), ("PAUSED", ""))),
        ("PAUSED", status("PAUSED")),
        ("STOPPED", status("STOPPED")),
    ],
)
def test_a_state_is_real_when_all_tasks_are_in_it(state: str, seen: dict[str, object]) -> None:
    halfway = status(state, (state, ""), ("RUNNING", ""))
    worker = Worker(ok(status("RUNNING", ("RUNNING", ""))), ok(halfway), ok(seen))

    assert connect(worker).wait_until_state("orders", state).state == state
    assert len(worker.asked) == 3


@pytest.mark.usefixtures("impatient")
def test_a_stopped_connector_with_a_task_is_not_stopped_yet() -> None:
    with pytest.raises(TimedOut, match=r'connector "orders" STOPPED; last seen: '):
        connect(Worker(ok(status("STOPPED", ("STOPPED", ""))))).wait_until_state("orders", "STOPPED")


def test_a_task_that_failed_never_reaches_a_state() -> None:
    worker = Worker(ok(status("PAUSED", ("FAILED", "E: x"))))

    with pytest.raises(ConnectError, match=r'^connector "orders" failed: E: x$'):
        connect(worker).wait_until_state("orders", "PAUSED")


def test_a_connector_is_gone_when_it_has_no_status() -> None:
    worker = Worker(ok(status("RUNNING")), httpx.Response(404, json=NOT_FOUND))

    connect(worker).wait_until_gone("orders")

    assert len(worker.asked) == 2


def test_another_error_is_not_gone() -> None:
    with pytest.raises(ConnectError, match="gave 500"):
        connect(Worker(httpx.Response(500, json={"message": "x"}))).wait_until_gone("orders")
