"""A small experiment that each test changes in one place."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gauntlet.experiment import Experiment, parse_experiment

CONSTANT = """\
[experiment]
name = "small"
seed = 7
repetitions = 2

[scenario]
name = "constant"
rate = "5.2Mbit/s"

[matrix]
protocols = ["tcp-cubic", "udp"]
channel_delay = ["25ms", "50ms"]
loss = ["0%", "1%"]

[workload]
app = "cbr"
rate = "max"
duration = "2min"
"""

RAIL = CONSTANT.replace('name = "constant"\nrate = "5.2Mbit/s"', 'name = "hsr"\nchunk = "10min"')

Parse = Callable[..., Experiment]


@pytest.fixture
def parse() -> Parse:
    """Parse experiment text; pairs of (before, after) change the text first, and must change it."""

    def parse_changed(text: str, *changes: tuple[str, str], folder: Path = Path()) -> Experiment:
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        return parse_experiment(text, "own.toml", folder)

    return parse_changed
