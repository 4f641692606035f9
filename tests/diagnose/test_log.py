"""Logs as entries: whose line, when, for which connector, and what belongs to it."""

from datetime import UTC, datetime

from lab.diagnose.log import entries

LOG = """\
mkdir: cannot create directory '/sys/logs': Permission denied
2026-11-19T02:00:59.123456789Z [2026-11-19 02:00:59,001] ERROR [mm2-msc|task-0|offsets] Failed (o.a.k.W)
2026-11-19T02:00:59.123456789Z java.lang.RuntimeException: outer
2026-11-19T02:00:59.123456789Z \tat a.b.C.d(C.java:1)
2026-11-19T02:00:59.123456789Z Caused by: java.net.UnknownHostException: nowhere
2026-11-19T02:00:59.123456789Z You can also find the list at the endpoint
2026-11-19T02:01:00.000000000Z [2026-11-19 02:01:00,001] INFO [Consumer clientId=a|b, groupId=c] Fine (o.a.C)
2026-11-19T02:01:01.000000000Z Terminating due to java.lang.OutOfMemoryError: Java heap space
"""


def test_a_line_has_what_was_traced_below_it() -> None:
    shell, failed, fine, jvm = entries(LOG.splitlines())

    assert (shell.text[:6], shell.level, shell.at) == ("mkdir:", "", None)
    assert (failed.level, failed.connector, failed.text) == ("ERROR", "mm2-msc", "Failed (o.a.k.W)")
    assert failed.at == datetime(2026, 11, 19, 2, 0, 59, 123456, tzinfo=UTC)
    assert len(failed.trace) == 4
    assert failed.shown == "Failed (o.a.k.W) … Caused by: java.net.UnknownHostException: nowhere"
    assert (fine.connector, fine.text) == ("", "[Consumer clientId=a|b, groupId=c] Fine (o.a.C)")
    assert jvm.text == "Terminating due to java.lang.OutOfMemoryError: Java heap space"


def test_a_log_without_the_engine_s_time_has_kafka_s() -> None:
    (entry,) = entries(["[2026-11-19 02:00:59,250] WARN Something (o.a.k.C:12)"])

    assert entry.at == datetime(2026, 11, 19, 2, 0, 59, 250_000, tzinfo=UTC)


def test_nothing_is_nothing() -> None:
    assert list(entries([])) == []
    assert list(entries(["", ""])) == []
