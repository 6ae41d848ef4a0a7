"""The bench of a command link's security: measures, keeps the raw samples, and says what they mean."""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gauntlet.errors import UserError
from gauntlet.space import summary
from gauntlet.space.machine import description
from gauntlet.space.programs import BENCH, MEMORY, first_row, program, rows

SECURITIES = (
    ("none", "aws-lc"),
    ("sdls-gcm", "aws-lc"),
    ("sdls-gcm-aws-lc", "aws-lc"),
    ("sdls-cmac", "aws-lc"),
    ("quic-stream", "aws-lc"),
    ("quic-stream", "ring"),
    ("quic-datagram", "aws-lc"),
    ("tls", "aws-lc"),
    ("restp", "aws-lc"),
)
"""Securities with their provider; those without TLS take no notice of it."""

_LINKS = 33
"""Links open at once, for what a further one takes of memory."""

_INSTRUCTIONS = (100, 1100)
"""Messages of two runs under callgrind: what they differ by is that of a thousand messages."""


def bench(
    folder: Path, quick: bool, seed: int, tell: Callable[[str], None]
) -> dict[str, list[dict[str, Any]]]:
    """Measures everything into a new folder; returns the tables of the summary by their names.

    `machine.json` describes the machine, `*.parquet` are raw samples, `summary.json` is what is returned.
    """
    if folder.exists():
        raise UserError(f"{folder} is there already; results are never overwritten: name another with --out.")
    program(BENCH), program(MEMORY)
    some = ["--seed", str(seed), *(["--quick"] if quick else [])]
    machine = {**description(), "quick": quick, "seed": seed}
    tell("Attacks: what each security gives.")
    raw = {"attacks": rows(BENCH, ["attacks"])}
    tell("Handshakes.")
    raw["handshakes"] = rows(BENCH, ["handshakes", *some])
    tell("Memory.")
    raw["memory"] = memory(tell)
    tell("Messages: the gaps take their time.")
    raw["messages"] = rows(BENCH, ["messages", *some])
    tables = {
        "three_columns": summary.three_columns(raw["messages"], raw["handshakes"]),
        "messages": summary.messages(raw["messages"]),
        "handshakes": summary.handshakes(raw["handshakes"]),
        "break_even": summary.break_even(raw["messages"], raw["handshakes"]),
    }
    folder.mkdir(parents=True)
    (folder / "machine.json").write_text(json.dumps(machine, indent=2) + "\n", encoding="utf-8")
    for name, table in raw.items():
        pq.write_table(table, folder / f"{name}.parquet")
    (folder / "summary.json").write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")
    return tables


def memory(tell: Callable[[str], None]) -> pa.Table:
    """Heap, resident set, and, where valgrind is installed, instructions and the heap of C libraries too."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        tell("valgrind is not installed: no instructions, and no heap of C libraries (Debian: valgrind).")
    found = []
    for security, provider in SECURITIES:
        options = ["--security", security, "--provider", provider]
        row: dict[str, Any] = {
            key: value if key in ("security", "provider") else int(value)
            for key, value in first_row(_output([str(program(MEMORY)), *options])[0]).items()
        }
        many = first_row(_output([str(program(MEMORY)), *options, "--links", str(_LINKS)])[0])
        row["rss_a_further_link"] = (int(many["rss_peak"]) - row["rss_peak"]) // (_LINKS - 1)
        row["heap_peak_with_c"] = _massif(valgrind, options) if valgrind else None
        row["instructions_a_message"] = _callgrind(valgrind, options) if valgrind else None
        found.append(row)
    return pa.Table.from_pylist(found)


def _output(command: list[str]) -> tuple[str, str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UserError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return done.stdout, done.stderr


def _callgrind(valgrind: str, options: list[str]) -> int:
    """Instructions of one message, both ends together: handshake and start of the program fall out."""
    few, many = (
        _collected(
            _output(
                [
                    valgrind,
                    "--tool=callgrind",
                    "--callgrind-out-file=/dev/null",
                    str(program(MEMORY)),
                    *options,
                    "--messages",
                    str(count),
                ]
            )[1]
        )
        for count in _INSTRUCTIONS
    )
    return (many - few) // (_INSTRUCTIONS[1] - _INSTRUCTIONS[0])


def _collected(said: str) -> int:
    found = re.search(r"Collected : (\d+)", said)
    if found is None:
        raise UserError("valgrind's callgrind did not say how many instructions it collected.")
    return int(found[1])


def _massif(valgrind: str, options: list[str]) -> int:
    """Octets of the heap at its peak, of C libraries too."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "massif"
        _output([valgrind, "--tool=massif", f"--massif-out-file={out}", str(program(MEMORY)), *options])
        return max(int(octets) for octets in re.findall(r"mem_heap_B=(\d+)", out.read_text(encoding="utf-8")))
