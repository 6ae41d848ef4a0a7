"""`gauntlet cache`: what it says of the cache of runs, and what it removes."""

import json
import os
from pathlib import Path

import pytest

from gauntlet.executor.bundle import SEAL, Bundle
from gauntlet.executor.cache import Cache

from .conftest import Gauntlet, refused


@pytest.fixture(autouse=True)
def _usual_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of guests switch the cache off for the worker that they share with these."""
    monkeypatch.delenv("GAUNTLET_CACHE_LIMIT", raising=False)


def fill(cache: Path, count: int) -> list[str]:
    """Put so many runs of about a kilobyte into it; their keys, the one used first first."""
    keys = [f"{number:064x}" for number in range(count)]
    for number, key in enumerate(keys):
        folder = cache.parent / f"made-{number}"
        folder.mkdir()
        (folder / "record.json").write_bytes(bytes(1000))
        facts = {"flows": ["cbr over udp"], "virtual_s": 1.0}
        Cache(cache / "runs").put(Bundle.seal(folder, key, made_with={}, facts=facts))
        os.utime(cache / "runs" / "00" / key / SEAL, (number, number))
    return keys


def test_the_cache_is_listed_pruned_and_cleared(gauntlet: Gauntlet, tmp_path: Path) -> None:
    keys = fill(tmp_path / "cache", 3)
    assert gauntlet("cache", "where").stdout == f"{tmp_path / 'cache' / 'runs'}\n"
    assert gauntlet("cache", "size").stdout.startswith("3 runs, 4.")
    assert gauntlet("cache", "size").stdout.endswith("kB of at most 10GB\n")
    listed = gauntlet("cache", "list").stdout.splitlines()
    assert [line[:16] for line in listed] == [key[:16] for key in reversed(keys)]
    assert listed[0].endswith("  1970-01-01T00:00:02Z  cbr over udp")
    told = json.loads(gauntlet("cache", "list", "--json").stdout)
    assert [entry["key"] for entry in told] == keys[::-1]
    assert gauntlet("cache", "prune").stdout == "0 runs removed, 0B\n"
    assert gauntlet("cache", "prune", "--size", "2.5kB").stdout.startswith("2 runs removed, ")
    assert [entry["key"] for entry in json.loads(gauntlet("cache", "list", "--json").stdout)] == keys[2:]
    assert gauntlet("cache", "clear").stdout.startswith("1 run removed, 1.")
    assert gauntlet("cache", "list").stdout == ""


def test_a_size_that_is_none_is_refused(gauntlet: Gauntlet) -> None:
    refused(gauntlet("cache", "prune", "--size", "some"), 2, "--size", "some")
