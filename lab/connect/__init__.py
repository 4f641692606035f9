"""Kafka Connect, asked through one of its workers. One file per layer:

rest.py     one HTTP request, and the errors that it may end with
api.py      Connect's REST API: connectors, their tasks, and what the worker thinks of a config
workers.py  Connect: the API, and waiting until the workers have done what they were asked for
"""

from lab.connect.api import Objection
from lab.connect.rest import ConnectError, Rebalancing
from lab.connect.workers import Connect

__all__ = ["Connect", "ConnectError", "Objection", "Rebalancing"]
