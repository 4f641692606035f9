"""An application that consumes: a member of a group that writes down what it has processed.

subscription.py  what it reads, in which group, how often it commits; no client
account.py       its own account of what it processed and committed: a journal, then a Parquet file
member.py        the member itself, in the process that __main__.py is
process.py       Consuming: starts that process beside a scenario's steps, and stops or kills it
"""

from lab.consuming.account import Heading, Standing, Summary, recover, summary
from lab.consuming.process import Consuming
from lab.consuming.subscription import Subscription

__all__ = ["Consuming", "Heading", "Standing", "Subscription", "Summary", "recover", "summary"]
