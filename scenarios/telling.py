"""Results that are for people, shown between the dots of a test run."""

import pytest


def tell(config: pytest.Config, text: str) -> None:
    """On the terminal, also while pytest captures what tests print."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    capture = config.pluginmanager.get_plugin("capturemanager")
    if terminal is not None and capture is not None:
        with capture.global_and_fixture_disabled():
            terminal.write_line("")
            terminal.write_line(text)
