"""Group offsets on the destination, written from MM2's checkpoints: what Kafka's tools cannot do.

decision.py  what to write, what to refuse, and why; no client
rounds.py    one round of it on a cluster
"""

from lab.offset_sync.decision import Decision, Refusal, Why, Write, decide, missing, require_policy
from lab.offset_sync.rounds import GroupSync

__all__ = [
    "Decision",
    "GroupSync",
    "Refusal",
    "Why",
    "Write",
    "decide",
    "missing",
    "require_policy",
]
