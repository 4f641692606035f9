"""A simulator that knows what really happened: each record's true place, whatever a reader can see of it."""
