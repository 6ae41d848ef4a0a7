"""The bench of a command link's security: measures, keeps the raw samples, and says what they mean."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gauntlet import __version__
from gauntlet.errors import UserError
from gauntlet.space import footprint, summary
from gauntlet.space.columns import three_columns
from gauntlet.space.first_handshakes import CELLS, TEN, first_handshakes
from gauntlet.space.machine import description
from gauntlet.space.programs import BENCH, MEMORY, about, program, rows

FORMAT = 1
"""Of the folder: docs/formats/space-bench.md."""

KIND = "space-bench"

Tables = dict[str, list[dict[str, Any]]]
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Step:
    """A file of samples, and how they are measured."""

    name: str
    says: str
    measure: Callable[[], pa.Table]


def bench(folder: Path, quick: bool, seed: int, tell: Tell) -> dict[str, Any]:
    """Measures what the folder does not have yet; returns the summary (docs/formats/space-bench.md)."""
    program(BENCH), program(MEMORY)
    if (folder / "summary.json").is_file():
        _begin(folder, quick, seed)
        return load(folder)
    manifest = _begin(folder, quick, seed)
    steps = list(_steps(quick, seed, manifest["about"], tell))
    samples = folder / "samples"
    samples.mkdir(exist_ok=True)
    for step in steps:
        if (samples / f"{step.name}.parquet").is_file():
            continue
        tell(step.says)
        manifest["load_before"][step.name] = round(os.getloadavg()[0], 2)
        _write(folder / "manifest.json", manifest)
        part = samples / f"{step.name}.part"
        pq.write_table(step.measure(), part)
        part.rename(samples / f"{step.name}.parquet")
    found = {
        **manifest,
        "tables": tables({step.name: pq.read_table(samples / f"{step.name}.parquet") for step in steps}),
    }
    _write(folder / "summary.json", found)
    return found


def load(folder: Path) -> dict[str, Any]:
    """The summary of a folder that is whole."""
    file = folder / "summary.json"
    if not file.is_file():
        raise UserError(
            f"{folder} has no summary.json: it is not, or not wholly, what gauntlet space bench keeps."
        )
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    if (found.get("kind"), found.get("format")) != (KIND, FORMAT):
        raise UserError(f"{file} is not of kind {KIND}, format {FORMAT}, which this version reads.")
    return found


def tables(samples: dict[str, pa.Table]) -> Tables:
    """The tables of the summary, of the samples by the names of their files."""
    messages = pa.concat_tables(table for name, table in samples.items() if name.startswith("messages-"))
    handshakes, memory = samples["handshakes"], samples["memory"]
    return {
        "published": three_columns(messages, handshakes, samples["first-handshakes"], memory),
        "messages": summary.messages(messages),
        "handshakes": summary.handshakes(handshakes),
        "break_even": summary.break_even(messages, handshakes),
        **{name: samples[name].to_pylist() for name in ("memory", "instructions", "sizes", "attacks")},
    }


def _begin(folder: Path, quick: bool, seed: int) -> dict[str, Any]:
    """The manifest of a new folder, or of one that was begun in the same way."""
    file = folder / "manifest.json"
    asked: dict[str, Any] = {"quick": quick, "seed": seed, "about": about()}
    if file.is_file():
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        other = [name for name in ("quick", "seed") if found.get(name) != asked[name]]
        if _libraries(found.get("about", {})) != _libraries(asked["about"]):
            other.append("libraries")
        if other:
            raise UserError(
                f"{folder} was begun with other {' and '.join(other)}: name another folder with --out."
            )
        return found
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder} holds something else: name another folder with --out.")
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {
        "kind": KIND,
        "format": FORMAT,
        "gauntlet": __version__,
        **asked,
        "machine": description(),
        "load_before": {},
    }
    _write(file, manifest)
    return manifest


def _libraries(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "clock_ns"}


def _steps(quick: bool, seed: int, programs: dict[str, Any], tell: Tell) -> Iterator[Step]:
    some = ["--seed", str(seed), *(["--quick"] if quick else [])]
    yield Step("attacks", "Attacks: what each security gives.", lambda: rows(BENCH, ["attacks"]))
    yield Step("handshakes", "Handshakes.", lambda: rows(BENCH, ["handshakes", *some]))
    yield Step(
        "first-handshakes",
        "Handshakes that are the first of their processes.",
        lambda: first_handshakes(CELLS, TEN, seed),
    )
    pairs = (*footprint.SECURITIES, *footprint.BEYOND)
    yield Step("memory", "Memory.", lambda: footprint.memory(quick, tell, pairs))
    yield Step("instructions", "Instructions.", lambda: footprint.instructions(quick, tell, pairs))
    yield Step("sizes", "Sizes.", footprint.sizes)
    blocks = programs["blocks_quick" if quick else "blocks"]
    for block in range(blocks):
        arguments = ["messages", *some, "--block", str(block)]
        yield Step(
            f"messages-{block}",
            f"Messages, block {block + 1} of {blocks}: the gaps take their time.",
            lambda arguments=arguments: rows(BENCH, arguments),  # type: ignore[misc]
        )


def _write(file: Path, content: dict[str, Any]) -> None:
    """As JSON with a line for each row of a table."""
    tables = content.get("tables", {})
    rest = {name: value for name, value in content.items() if name != "tables"}
    text = json.dumps(rest, indent=1)
    if tables:
        lines = ",\n".join(
            f"  {json.dumps(name)}: [\n" + ",\n".join(f"   {json.dumps(row)}" for row in rows) + "\n  ]"
            for name, rows in tables.items()
        )
        text = text.removesuffix("\n}") + f',\n "tables": {{\n{lines}\n }}\n}}'
    part = file.with_suffix(".part")
    part.write_text(text + "\n", encoding="utf-8")
    part.rename(file)
