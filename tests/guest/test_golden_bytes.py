"""Results stay byte for byte what they were, on every host: `golden.py` says what is compared, and how."""

import dataclasses
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.guest import golden, locked
from tests.guest.conftest import ROOT
from tests.guest.golden import Golden, Key

KEY = Key("5a", "7e", "10", "6.12.117")
HASHES = {"stacks/sctp_rep-001/packets": "aa", "stacks/tables/flows": "bb"}

REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
LOCK = f"""
version = 4

[[package]]
name = "gauntlet-player"
version = "0.1.0"
dependencies = ["tls", "transports"]

[[package]]
name = "transports"
version = "0.1.0"
dependencies = ["random 0.9.2", "tls"]

[[package]]
name = "tls"
version = "1.2.3"
source = "{REGISTRY}"
checksum = "c1"
dependencies = ["random 0.10.1 ({REGISTRY})", "transports"]

[[package]]
name = "random"
version = "0.9.2"
source = "{REGISTRY}"
checksum = "c2"

[[package]]
name = "random"
version = "0.10.1"
source = "{REGISTRY}"
checksum = "c3"

[[package]]
name = "random"
version = "0.10.1"
source = "git+https://example.org/random"

[[package]]
name = "web"
version = "0.1.0"
dependencies = ["gauntlet-player", "h2", "random 0.10.1 (git+https://example.org/random)"]

[[package]]
name = "h2"
version = "0.4.1"
source = "{REGISTRY}"
checksum = "c4"
"""
"""The player depends on two packages called `random`, web on a third; `tls` leads back to `transports`."""


def test_results_are_what_they_were(tmp_path: Path) -> None:
    key = Key.present()
    kept = Golden.read().of(key)
    said = golden.complaint(key, kept, golden.play(tmp_path) if kept else {})
    assert said is None, said


@pytest.mark.parametrize("part", ["source", "recipe", "cargo_lock"])
def test_an_unknown_key_names_the_command_that_makes_it_known(part: str) -> None:
    kept = Golden().with_key(KEY, HASHES)
    assert kept.of(KEY) == HASHES
    other = dataclasses.replace(KEY, **{part: "ff"})
    said = golden.complaint(other, kept.of(other), HASHES)
    assert said is not None
    assert "`make golden`" in said
    assert "ff" in said


def test_what_differs_is_named() -> None:
    assert golden.complaint(KEY, HASHES, dict(HASHES)) is None
    said = golden.complaint(KEY, HASHES, {**HASHES, "stacks/tables/flows": "cc"})
    assert said is not None
    assert "1 of 2 parts differ (stacks/tables/flows);" in said
    missing = golden.complaint(KEY, HASHES, {"stacks/tables/flows": "bb"})
    assert missing is not None
    assert "stacks/sctp_rep-001/packets" in missing


def test_kernels_stand_side_by_side_and_an_older_recipe_is_dropped() -> None:
    other_kernel = dataclasses.replace(KEY, source="5b")
    two = Golden().with_key(KEY, HASHES).with_key(other_kernel, {})
    assert (two.of(KEY), two.of(other_kernel)) == (HASHES, {})
    for part in ("recipe", "cargo_lock"):
        newer = dataclasses.replace(other_kernel, **{part: "ff"})
        one = two.with_key(newer, HASHES)
        assert (one.of(KEY), one.of(other_kernel), one.of(newer)) == (None, None, HASHES)


def _hashes(folder: Path, sent_ns: int, share: float, sentence: str = "It holds.") -> dict[str, str]:
    run, tables = folder / "runs" / "a", folder / "tables"
    run.mkdir(parents=True)
    tables.mkdir()
    (run / "record.json").write_text('{"outcome": "ok", "guest": {"kernel": "6.12"}}')
    (run / "capture.pcapng").write_bytes(b"packets")
    pq.write_table(pa.table({"sent_ns": [sent_ns, None]}), run / "messages.parquet")
    pq.write_table(pa.table({"share": [share], "sentence": [sentence]}), tables / "flows.parquet")
    return dict(golden.of_results(folder))


def test_a_nanosecond_changes_a_record_and_a_last_bit_no_table(tmp_path: Path) -> None:
    known = _hashes(tmp_path / "known", 1_000_000_007, 0.1 + 0.2)
    assert sorted(known) == ["a/packets", "a/record", "tables/flows"]
    later = _hashes(tmp_path / "later", 1_000_000_008, 0.1 + 0.2)
    assert [name for name in known if known[name] != later[name]] == ["a/record"]
    assert _hashes(tmp_path / "rounded", 1_000_000_007, 0.3, "It does hold.") == known
    larger = _hashes(tmp_path / "larger", 1_000_000_007, 0.300000003)
    assert [name for name in known if known[name] != larger[name]] == ["tables/flows"]


def test_the_key_holds_what_the_player_is_reached_from() -> None:
    found = locked.packages(LOCK, golden.PLAYER)
    assert [(it["name"], it["version"], it.get("checksum")) for it in found] == [
        ("gauntlet-player", "0.1.0", None),
        ("random", "0.10.1", "c3"),
        ("random", "0.9.2", "c2"),
        ("tls", "1.2.3", "c1"),
        ("transports", "0.1.0", None),
    ]


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ('checksum = "c4"', 'checksum = "ff"'),
        ("0.4.1", "0.4.2"),
        ("git+https://example.org/random", "git+https://example.org/other"),
        ('["gauntlet-player", "h2", ', '["gauntlet-player", "h2", "tls", '),
    ],
)
def test_a_package_that_the_player_is_not_built_of_changes_no_key(was: str, becomes: str) -> None:
    changed = LOCK.replace(was, becomes)
    assert changed != LOCK
    assert golden.of_lock(changed) == golden.of_lock(LOCK)


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ('checksum = "c3"', 'checksum = "ff"'),
        ("0.9.2", "0.9.3"),
        (REGISTRY, "registry+https://example.org/index"),
        ('["random 0.9.2", "tls"]', '["h2", "random 0.9.2", "tls"]'),
        ('["random 0.9.2", "tls"]', '["tls"]'),
    ],
)
def test_a_package_that_the_player_is_built_of_changes_the_key(was: str, becomes: str) -> None:
    changed = LOCK.replace(was, becomes)
    assert changed != LOCK
    assert golden.of_lock(changed) != golden.of_lock(LOCK)


def test_of_this_workspace_the_web_server_and_the_attackers_are_outside() -> None:
    names = {it["name"] for it in locked.packages((ROOT / "Cargo.lock").read_text(), golden.PLAYER)}
    assert {"gauntlet-player", "netlab", "transports", "workload", "rustls", "quinn-proto"} <= names
    assert not {"web", "attackers", "h3-quinn"} & names
