"""The verdict on what MM2 did: wait, name the ends, read both sides, judge, and show it.

flow.py          one topic's way from a cluster to another
catching_up.py   wait until the target has what the source had; position.py how far MM2 says that it came
ends.py          between which offsets both sides are read; belonging.py which ledgers are this topic's
evidence/        what one scan of both topics and the ledger leaves
mm2_checks.py      what MM2 did besides: syncs, checkpoints, groups, configs, ACLs, as tables and checks
mm2_state.py     what the clients read of it; parity.py expected beside found, internals.py beside the records
standing.py      since when something differs: seen.py what earlier verdicts saw, due.py MM2's intervals
checks/          one question each, over the evidence
verification.py  all of it in order
figures.py       what is drawn; report/ the page
"""
