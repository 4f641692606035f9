"""Record lag: how many records of a source partition are not on the target yet, and how old they are.

Neither Connect's committed offsets are used, which are as old as the worker's flush interval, nor is an
offset of one cluster subtracted from one of the other, which transactions, compaction and duplicates would
spoil. The last record of the target partition is looked up in the source partition: the first with its
timestamp or a younger one, and from there on the one with the same timestamp, key and value (headers may
have been converted). What stands after it, counted record by record, is the lag.

It is exact
- with duplicates on the target: the furthest record that a watch has seen mirrored counts, so a replay
  makes nothing unmirrored again. A watch that begins in the middle of a replay sees the replay's position
  until it passes.
- with transactions: markers are no records, and aborted records are some only if MM2 reads them.
- with equal records in one millisecond: those before them tell which one it is.

It is "at most" (`exact` is False) while a backlog is too large to be counted in one sample, or when more
equal records follow each other than are compared. It is not known (None, with a `reason`) when the target's
last record is not in the source: it is gone from there, or MM2 did not write it. A target that stamps
records itself (LogAppendTime) is searched for among the last records of the source. Records that are
compacted away after they were counted stay counted as long as they are behind.

    partition.py  what a watch tells and knows of a partition
    equal.py      which record of the source a record of the target is
    arrivals.py   the target's last records
    search.py     where these are in the source
    watcher.py    LagWatcher: both, and what stands after it
"""

from lab.lag.equal import aligned
from lab.lag.partition import Backlog, Mirrored, Sample
from lab.lag.watcher import LagWatcher, alike, mirrored_topics, watchers

__all__ = ["Backlog", "LagWatcher", "Mirrored", "Sample", "aligned", "alike", "mirrored_topics", "watchers"]
