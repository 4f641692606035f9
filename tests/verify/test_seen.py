"""What verdicts saw is there for the next one, as long as the topics are the same."""

from pathlib import Path

from lab.kafka import Acl
from lab.verify.seen import Before, Seen

ACL = Acl(
    resource="topic",
    name="source.orders",
    pattern="literal",
    principal="User:a",
    host="*",
    operation="read",
    permission="allow",
)
BEFORE = Before(at_ms=7, acls=[ACL], configs={"retention.ms": "5"}, groups={"billing": {0: 3, 1: 4}})


def test_what_was_there_before_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "seen" / "orders.json"
    Seen(["a", "b"], path=path).save(BEFORE, keep_ms=0)

    assert Seen.load(path, ["a", "b"]).before == BEFORE


def test_of_another_topic_of_the_same_name_nothing_was_seen(tmp_path: Path) -> None:
    path = tmp_path / "orders.json"
    Seen(["a", "b"], path=path).save(BEFORE, keep_ms=0)

    assert Seen.load(path, ["a", "c"]).before is None


def test_without_a_file_and_with_one_that_is_cut_short_nothing_was_seen(tmp_path: Path) -> None:
    path = tmp_path / "orders.json"
    assert Seen.load(path, ["a"]).before is None

    path.write_text('{"ids": ["a"]')
    assert Seen.load(path, ["a"]).before is None


def test_a_value_stands_since_it_was_seen_first() -> None:
    seen = Seen(["a"])

    assert [seen.since("x", value, at) for at, value in ((1, "p"), (5, "p"), (7, "q"), (9, "p"))] == [
        1,
        1,
        7,
        9,
    ]
    assert [seen.at("x", at) for at in (0, 1, 6, 8, 10)] == [None, "p", "p", "q", "p"]
    assert seen.first("x") == 1


def test_what_the_last_look_does_not_tell_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "orders.json"
    seen = Seen(["a"], path=path)
    seen.since("gone", [1, None], 1)
    seen.since("stays", [1, None], 1)
    seen.new_look()
    seen.since("stays", [1, None], 5)
    seen.save(BEFORE, keep_ms=0)

    again = Seen.load(path, ["a"])
    assert again.since("stays", [1, None], 9) == 1
    assert again.since("gone", [1, None], 9) == 9


def test_values_that_say_nothing_more_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "orders.json"
    seen = Seen(["a"], path=path)
    for at in range(10):
        seen.since("x", at, at)
    seen.save(BEFORE, keep_ms=7)

    assert Seen.load(path, ["a"]).looks == {"x": [(0, 0), (7, 7), (8, 8), (9, 9)]}
