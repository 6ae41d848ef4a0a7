"""docs/formats/experiment.md says what the code does: its example parses, its tables name every key."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from gauntlet.experiment import PROTOCOLS, expand, parse_experiment
from gauntlet.experiment.latency_load import LoadSection
from gauntlet.experiment.scenario_section import ScenarioSection
from gauntlet.experiment.schema import (
    ExperimentSection,
    FlowSection,
    LinkSection,
    RecordSection,
)
from gauntlet.experiment.server import ServerSection

TEXT = (Path(__file__).parents[2] / "docs" / "formats" / "experiment.md").read_text(encoding="utf-8")
SECTIONS: dict[str, type[BaseModel]] = {
    "[experiment]": ExperimentSection,
    "[scenario]": ScenarioSection,
    "[link]": LinkSection,
    "[server]": ServerSection,
    "[workload], or several [[flow]]": FlowSection,
    "[load]": LoadSection,
    "[record]": RecordSection,
}


def keys_of_table(heading: str) -> set[str]:
    """Names in code style in the first column of a section's table."""
    section = TEXT.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {key for row in rows for key in re.findall(r"`([a-z_]+)`", row)}


def test_the_example_is_a_whole_experiment() -> None:
    example = re.search(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert example is not None
    assert len(expand(parse_experiment(example[1], "example", Path()))) == 2 * 2 * 10


@pytest.mark.parametrize("heading", SECTIONS)
def test_tables_name_every_key(heading: str) -> None:
    fields = SECTIONS[heading].model_fields.items()
    assert keys_of_table(heading) == {field.alias or name for name, field in fields}


def test_every_protocol_is_named() -> None:
    line = next(line for line in TEXT.splitlines() if line.startswith("Protocols: "))
    assert set(re.findall(r"`([a-z0-9-]+)`", line)) == set(PROTOCOLS)
