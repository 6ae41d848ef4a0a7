"""The second implementation of link security against the published vectors, and against the crate by chance.

The crate plays the same files in `crates/sdls/tests/vectors.rs`.
"""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gauntlet.space.sdls.play import expected, play

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT / "crates" / "sdls" / "vectors"


def read(name: str) -> list[Json]:
    """The vectors of a file."""
    vectors: list[Json] = json.loads((VECTORS / name).read_text(encoding="utf-8"))["vectors"]
    return vectors


@pytest.mark.parametrize("name", ["own.json", "foreign.json"])
def test_every_vector_comes_out(name: str) -> None:
    vectors = read(name)
    assert len(vectors) >= 19
    for vector in vectors:
        assert play(vector) == expected(vector), vector["name"]


def test_own_vectors_cover_what_must_be_refused() -> None:
    refused = Counter(step["refused"] for v in read("own.json") for step in v["steps"] if "refused" in step)
    assert refused.keys() >= {
        "spi-unknown", "field-too-short", "frame-too-short", "frame-not-fixed-length", "frame-fecf", "mac",
        "replay", "iv-exhausted", "sequence-exhausted", "sa-iv-reuse", "sa-key-taken", "sa-wrong-channel",
        "sa-not-operational", "sa-transition", "sa-carries-command", "key-kind", "key-state", "key-in-use",
        "otar-mac", "otar-contents", "pdu-length", "pdu-tag", "padding", "not-protectable", "frame-version",
        "frame-length-field", "frame-too-long", "frame-invalid", "frame-fhec", "frame-out-of-range",
        "frame-not-as-managed",
    }  # fmt: skip


def test_every_foreign_vector_says_where_it_is_from() -> None:
    for vector in read("foreign.json"):
        assert all(vector["source"][name] for name in ("repository", "path", "test", "taken")), vector["name"]


def test_a_changed_key_is_noticed() -> None:
    vector = next(vector for vector in read("own.json") if vector["name"] == "tc-gcm-256")
    changed = copy.deepcopy(vector)
    changed["keys"][0]["octets"] = "ff" * 32
    assert play(changed) != expected(vector)


def example(*arguments: str) -> Json:
    """What the crate's example `vectors` prints, built as `cargo test` builds it."""
    command = [
        "cargo",
        "run",
        "--quiet",
        "--profile",
        "test",
        "--package",
        "sdls",
        "--example",
        "vectors",
        "--",
    ]
    done = subprocess.run(
        [*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=True, timeout=900
    )
    printed: Json = json.loads(done.stdout)
    return printed


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_frames_by_chance_come_out() -> None:
    seed = 20261123
    vectors = example("fresh", str(seed), "400")["vectors"]
    assert len(vectors) == 400
    outcomes = Counter(name for vector in vectors for outcome in expected(vector) for name in outcome)
    assert min(outcomes["gives"], outcomes["refused"]) > 300
    for vector in vectors:
        assert play(vector) == expected(vector), f"seed {seed}: {vector['name']}"
