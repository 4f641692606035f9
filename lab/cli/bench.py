"""bench: figures measured side by side in one run, as ratios."""

import typer


def register(app: typer.Typer) -> None:
    """Filled by lab/bench."""
