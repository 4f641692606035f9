"""The simulator of truths itself: repeatable, and right about what it claims to know."""

import random
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from scenarios.verifier.truth.enumerated import evidence_of, grouped, truths
from scenarios.verifier.truth.faults import FAULTS
from scenarios.verifier.truth.judge import Judgement, Label, judge
from scenarios.verifier.truth.logs import Copy, Knobs, Truth
from scenarios.verifier.truth.mirror import history
from scenarios.verifier.truth.reading import seen
from scenarios.verifier.truth.twins import may_be_unknown, mirrored_and_deleted, twins

SEEDS = range(800)


@cache
def drawn() -> list[tuple[Truth, bool, Judgement]]:
    """Each history with its ledger, where there is one, and without."""
    return [
        (truth, ledger, judge(truth, ledger=ledger))
        for truth in map(history, SEEDS)
        for ledger in (False, True)
        if truth.knobs.ledger != "none" or not ledger
    ]


def plain(knobs: Knobs) -> Knobs:
    return Knobs(partitions=knobs.partitions, records=8, values=1_000)


def test_a_seed_decides_everything() -> None:
    for seed in SEEDS[:100]:
        assert history(seed) == history(seed)
        assert seen(history(seed), ledger=True) == seen(history(seed), ledger=True)
    assert history(1) != history(2)


def test_every_choice_and_every_fault_is_drawn() -> None:
    knobs = Counter(knob for seed in SEEDS for knob in history(seed).knobs.on)
    planted = Counter(fault for seed in SEEDS for fault in history(seed).planted)

    assert set(planted) == set(FAULTS)
    assert min(planted.values()) >= 1
    switches = {name for name, value in vars(Knobs()).items() if value is False}
    assert switches <= set(knobs)
    assert {"ledger=all", "ledger=some", "ledger=none"} <= set(knobs)


def test_about_half_is_clean_and_most_of_the_rest_faulty() -> None:
    labels = Counter(judgement.label for _, _, judgement in drawn())

    assert labels[Label.CLEAN] > 0.4 * len(drawn())
    assert labels[Label.FAULTY] > 0.3 * len(drawn())
    assert labels[Label.NOT_JUDGED] < 0.15 * len(drawn())


def test_a_mirror_without_restart_writes_the_source_in_its_order() -> None:
    for truth in map(history, SEEDS):
        if truth.planted or truth.knobs.restarts:
            continue
        for partition, target in truth.target.items():
            origins = [copy.origin for copy in target.copies if copy.origin]
            assert origins == sorted(set(origins))
            assert {p for p, _ in origins} <= {partition}


def test_a_restart_goes_back_and_on_from_there_to_the_end() -> None:
    seen_back = 0
    for truth in map(history, SEEDS):
        if truth.planted or not truth.knobs.restarts:
            continue
        for target in truth.target.values():
            origins = [copy.origin[1] for copy in target.copies if copy.origin]
            for place, (before, after) in enumerate(pairwise(origins), start=1):
                if after <= before:
                    seen_back += 1
                    assert set(origins[: place - 1]) | {before} >= {after}
                    assert max(origins[place:]) >= before
    assert seen_back > 50


def test_copies_that_no_fault_touched_are_equal_to_their_records() -> None:
    for truth in map(history, SEEDS):
        if truth.planted:
            continue
        for copy in (copy for target in truth.target.values() for copy in target.copies):
            if copy.origin and not copy.stamped:
                assert copy.content == truth.content(copy.origin)
            assert copy.origin or copy.other_source or copy.earlier_topic or copy.content is None


def test_a_mirror_without_event_is_clean() -> None:
    names = ("begins_late", "overtaken", "recreated")
    found = [
        judgement.label
        for truth, _, judgement in drawn()
        if not truth.planted
        and not any(getattr(truth.knobs, name) for name in names)
        and (truth.knobs.duplicates_allowed or not truth.knobs.restarts)
    ]

    assert len(found) >= 300
    assert set(found) == {Label.CLEAN}


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_each_fault_is_seen_or_is_none(name: str) -> None:
    """Planted alone, where nothing is hidden: the evidence changes if and only if it is judged faulty."""
    labels = Counter(_label_of(name, seed) for seed in range(150))
    labels.pop(None, None)

    assert labels[Label.FAULTY] >= 3
    assert labels[Label.NOT_JUDGED] <= labels[Label.FAULTY]


def _label_of(name: str, seed: int) -> Label | None:
    aborted = name == "aborted_mirrored"

    def change(knobs: Knobs) -> Knobs:
        return replace(
            plain(knobs),
            values=knobs.values,
            headers=knobs.headers,
            compacted=name == "last_value_stale",
            transactions=aborted,
            read_committed=aborted,
        )

    truth = history(seed, change)
    before = evidence_of(seen(truth, ledger=False))
    assert judge(truth, ledger=False).label is Label.CLEAN
    if not FAULTS[name](truth, random.Random(seed)):  # noqa: S311 - repeatable is what it is to be
        return None
    changed = evidence_of(seen(truth, ledger=False)) != before
    label = judge(truth, ledger=False).label
    if not truth.knobs.compacted:
        assert changed is (label is Label.FAULTY), (seed, label)
    return label


def test_a_drop_beside_a_repeated_equal_is_no_fault() -> None:
    truth = history(3, lambda _: Knobs(records=4, values=1_000))
    first = truth.source[0].slots[0]
    truth.source[0].slots[1] = first
    copies = truth.target[0].copies
    copies[0:2] = [Copy(content=first.content, origin=(0, 1))] * 2

    assert judge(truth, ledger=False).label is Label.CLEAN
    del copies[0]
    assert judge(truth, ledger=False).label is Label.FAULTY


def test_twins_have_equal_evidence_to_the_byte() -> None:
    found: Counter[str] = Counter()
    for truth, ledger, judgement in drawn():
        for name, other in twins(truth, judgement, ledger=ledger):
            assert evidence_of(seen(other, ledger=ledger)) == evidence_of(seen(truth, ledger=ledger)), name
            found[name] += judge(other, ledger=ledger).label is not judgement.label

    assert min(found.values()) >= 3, found


def test_the_twin_of_a_faulty_history_is_clean() -> None:
    found = []
    for truth, ledger, judgement in drawn():
        if truth.knobs.recreated or truth.knobs.compacted:
            continue
        if judgement.label is Label.FAULTY and (other := mirrored_and_deleted(truth, ledger=ledger)):
            found.append((truth.seed, ledger, judge(other, ledger=ledger).label))

    assert len(found) >= 3
    assert [f for f in found if f[2] is not Label.CLEAN] == []


@pytest.mark.parametrize("duplicates_allowed", [False, True])
def test_where_nothing_is_hidden_equal_evidence_is_equally_true(duplicates_allowed: bool) -> None:
    groups = grouped(
        truths(3, duplicates_allowed=duplicates_allowed), lambda truth: seen(truth, ledger=False)
    )
    open_to_all = [
        {judge(truth, ledger=False).label for truth in members}
        for members in groups.values()
        if not members[0].source[0].start and not members[0].target[0].start
    ]

    assert len(open_to_all) > 100
    assert {len(labels) for labels in open_to_all} == {1}


@pytest.mark.parametrize("duplicates_allowed", [False, True])
def test_whatever_nobody_can_decide_has_a_twin(duplicates_allowed: bool) -> None:
    """By enumeration: the twins that are built are all that there are."""
    groups = grouped(
        truths(3, duplicates_allowed=duplicates_allowed), lambda truth: seen(truth, ledger=False)
    )
    undecided = 0
    for members in groups.values():
        judged = [(truth, judge(truth, ledger=False)) for truth in members]
        labels = {judgement.label for _, judgement in judged}
        if {Label.CLEAN, Label.FAULTY} <= labels:
            undecided += 1
            for truth, judgement in judged:
                assert may_be_unknown(truth, judgement, ledger=False)

    assert undecided > 20
