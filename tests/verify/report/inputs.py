"""Literal verdicts, as a verification saves them."""

import copy
from typing import Any

_BEGIN = 1_763_468_000  # 2025-11-18 12:13:20 UTC

_FULL: dict[str, Any] = {
    "lab": "mine",
    "topology": "basic-mirror",
    "kafka": "3.9.1",
    "commit": "c203ff21da3e",
    "run": "20251118T121320Z-verify-orders",
    "topic": "orders",
    "remote": "source.orders",
    "source": "source",
    "target": "target",
    "frozen_at": "2025-11-18T12:14:00.250+00:00",
    "outcome": "FAIL",
    "versions": {"Spark": "4.0.0"},
    "stages": [{"name": "scan", "seconds": 31.9}, {"name": "judge", "seconds": 8.2}],
    "verdicts": [
        {"check": "ledger", "outcome": "PASS", "meaning": "all are in the source", "counts": {"acked": 4000}},
        {
            "check": "loss",
            "outcome": "FAIL",
            "meaning": "7 records are missing",
            "counts": {"not_mirrored": 7, "tail": 0},
            "first": [{"partition": 1, "offset": 52_000}, {"partition": 1, "offset": 52_001}],
        },
        {"check": "sync_pairs", "outcome": "UNKNOWN", "meaning": "no offset sync was found"},
        {"check": "compaction", "outcome": "n/a", "meaning": "the topic is not compacted"},
    ],
    "partitions": [
        {
            "partition": 0,
            "s_start": 0,
            "s_end": 2001,
            "s_rows": 2000,
            "t_start": 0,
            "t_end": 2000,
            "t_rows": 2000,
        },
        {
            "partition": 1,
            "s_start": 5,
            "s_end": 2005,
            "s_rows": 2000,
            "t_start": 0,
            "t_end": 1993,
            "t_rows": 1993,
        },
    ],
    "series": {
        "source": [[_BEGIN + at, 100] for at in range(40)],
        "target": [[_BEGIN + at, 90] for at in range(2, 44)],
    },
    "samples": [{"at": _BEGIN + at, "source": 100 * at, "target": 90 * at} for at in range(0, 40, 2)],
    "latency_ms": {
        "p50": 14.2,
        "p95": 88.0,
        "p99": 240.5,
        "histogram": [[1, 0], [10, 5], [20, 50], [100, 20], [500, 3], [1000, 0], [None, 0]],
    },
    "trouble": {
        "bins": 10,
        "partitions": [
            {
                "partition": 0,
                "records": 2000,
                "missing": [0] * 10,
                "duplicate": [0, 4, 4, 0, 0, 0, 0, 0, 0, 1],
                "reordered": [0] * 10,
                "damaged": [0] * 10,
            },
            {
                "partition": 1,
                "records": 2000,
                "missing": [0, 0, 0, 7, 0, 0, 0, 0, 0, 0],
                "duplicate": [0] * 10,
                "reordered": [0, 0, 0, 0, 0, 2, 0, 0, 0, 0],
                "damaged": [0, 0, 0, 0, 0, 0, 3, 0, 0, 0],
            },
            {"partition": 2, "records": 2000},
        ],
    },
    "faults": [{"name": "kill-leader broker", "from": _BEGIN + 10, "to": _BEGIN + 20}],
}


def full(**changes: Any) -> dict[str, Any]:
    """A verdict with something of everything."""
    return copy.deepcopy(_FULL) | changes


def bare(**changes: Any) -> dict[str, Any]:
    """The least that is a verdict."""
    return {"topic": "orders", "outcome": "UNKNOWN"} | changes
