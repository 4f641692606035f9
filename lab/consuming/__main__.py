"""python -m lab.consuming: one member, as the first line of stdin says, until stdin ends.

Whoever starts it holds the other end: it also stops, cleanly, when they are gone.
"""

import json
import sys
import threading
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from lab.consuming.account import Account, Heading
from lab.consuming.member import Member
from lab.consuming.subscription import Subscription
from lab.errors import LabError
from lab.kafka import Cluster


def main() -> None:
    told = json.loads(sys.stdin.readline())
    cluster = Cluster(told["alias"], told["bootstrap"], told["properties"])
    given = told["subscription"]
    subscription = Subscription(**{**given, "topics": tuple(given["topics"])})
    heading = Heading(cluster=cluster.alias, group=subscription.group, subscription=asdict(subscription))
    stopped = threading.Event()
    threading.Thread(target=_set_at_the_end, args=(sys.stdin, stopped), daemon=True).start()
    try:
        with closing(Account(Path(told["folder"]), heading)) as account:
            Member(cluster, subscription, account).run(stopped.is_set)
    except LabError as error:
        raise SystemExit(f"error: {error.message}\nhint: {error.hint}") from None


def _set_at_the_end(given: TextIO, stopped: threading.Event) -> None:
    given.read()
    stopped.set()


if __name__ == "__main__":
    main()
