"""A consumer group on both clusters: where it stands, and what a switch to the target now would mean for it.

judging.py    finds the group's place on the target, and counts the records between
comparing.py  both clusters' groups, side by side
"""

from lab.switching.comparing import Compared, Side, compare
from lab.switching.judging import Standing, Switch, Switching

__all__ = ["Compared", "Side", "Standing", "Switch", "Switching", "compare"]
