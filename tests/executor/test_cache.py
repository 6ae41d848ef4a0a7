"""The cache of runs: whole or not at all, checked when it is taken from, emptied from its oldest end."""

import os
import threading
from pathlib import Path

import pytest

from gauntlet.errors import RunError, UserError
from gauntlet.executor.bundle import SEAL, Bundle
from gauntlet.executor.cache import Cache

MADE_WITH = {"code": "1", "pyarrow": "2"}
KEY = "ab" + "0" * 62


@pytest.fixture(autouse=True)
def _usual_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of guests switch the cache off for the worker that they share with these."""
    monkeypatch.delenv("GAUNTLET_CACHE_LIMIT", raising=False)


def bundle(folder: Path, key: str = KEY, content: bytes = b"record", *, capture: bool = False) -> Bundle:
    """A sealed bundle of two files."""
    (folder / "qlog").mkdir(parents=True)
    (folder / "record.json").write_bytes(content)
    (folder / "qlog" / "f0.sqlog").write_text("events")
    return Bundle.seal(folder, key, made_with=MADE_WITH, facts={"virtual_s": 1.5, "capture": capture})


def key(number: int) -> str:
    return f"{number:064x}"


def test_what_was_put_is_taken_as_it_was(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    assert cache.take(KEY, MADE_WITH, tmp_path / "none") is None
    cache.put(bundle(tmp_path / "made"))
    assert cache.has(KEY, MADE_WITH)
    taken = cache.take(KEY, MADE_WITH, tmp_path / "taken")
    assert taken is not None
    assert (taken.key, taken.facts["virtual_s"]) == (KEY, 1.5)
    names = sorted(str(path.relative_to(taken.folder)) for path in taken.folder.rglob("*") if path.is_file())
    assert names == [SEAL, "qlog/f0.sqlog", "record.json"]
    assert (tmp_path / "taken" / "record.json").read_bytes() == b"record"


@pytest.mark.parametrize("damage", ["change", "remove", "add", "seal", "cut"])
def test_a_damaged_entry_is_noticed_and_removed(tmp_path: Path, damage: str) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put(bundle(tmp_path / "made"))
    entry = tmp_path / "cache" / "ab" / KEY
    match damage:
        case "change":
            (entry / "record.json").write_bytes(b"recorD")
        case "remove":
            (entry / "qlog" / "f0.sqlog").unlink()
        case "add":
            (entry / "messages.parquet").write_bytes(b"more")
        case "seal":
            (entry / SEAL).write_text((entry / SEAL).read_text().replace("1.5", "2.5"))
        case "cut":
            (entry / SEAL).write_bytes((entry / SEAL).read_bytes()[:40])
    assert cache.take(KEY, MADE_WITH, tmp_path / "taken") is None
    assert not (tmp_path / "taken").exists()
    assert not entry.exists()
    cache.put(bundle(tmp_path / "again"))
    assert cache.take(KEY, MADE_WITH, tmp_path / "taken") is not None


def test_what_was_made_otherwise_or_lacks_packets_is_not_taken(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put(bundle(tmp_path / "made"))
    assert not cache.has(KEY, {**MADE_WITH, "pyarrow": "3"})
    assert cache.take(KEY, MADE_WITH, tmp_path / "taken", capture=True) is None
    cache.put(bundle(tmp_path / "with", capture=True))
    assert cache.take(KEY, MADE_WITH, tmp_path / "taken", capture=True) is not None
    assert len(cache.entries()) == 1


def test_an_entry_at_the_place_of_another_key_is_not_taken(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put(bundle(tmp_path / "made"))
    other = "ab" + "1" * 62
    (tmp_path / "cache" / "ab" / KEY).rename(tmp_path / "cache" / "ab" / other)
    assert not cache.has(other, MADE_WITH)
    assert cache.take(other, MADE_WITH, tmp_path / "taken") is None


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    for number in range(4):
        cache.put(bundle(tmp_path / f"made{number}", key(number), bytes(1000)))
        os.utime(tmp_path / "cache" / "00" / key(number) / SEAL, (number, number))
    size_bytes = cache.entries()[0].size_bytes
    assert cache.size_bytes() == 4 * size_bytes > 4000
    cache.take(key(0), MADE_WITH, tmp_path / "taken")
    gone = cache.prune(2 * size_bytes)
    assert [entry.key for entry in gone] == [key(1), key(2)]
    assert {entry.key for entry in cache.entries()} == {key(0), key(3)}
    assert len(cache.prune(0)) == 2
    assert cache.size_bytes() == 0


def test_a_full_cache_makes_room_by_itself(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", limit_bytes=10_000)
    for number in range(20):
        cache.put(bundle(tmp_path / f"made{number}", key(number), bytes(1000)))
        os.utime(tmp_path / "cache" / "00" / key(number) / SEAL, (number, number))
        assert cache.size_bytes() <= 10_000
    left = [entry.key for entry in cache.entries()]
    assert left == [key(number) for number in range(20 - len(left), 20)]
    assert len(left) >= 5


def test_a_limit_of_nothing_switches_it_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAUNTLET_CACHE", str(tmp_path / "cache"))
    Cache.of_user().put(bundle(tmp_path / "made"))
    assert Cache.of_user().has(KEY, MADE_WITH)
    monkeypatch.setenv("GAUNTLET_CACHE_LIMIT", "0B")
    off = Cache.of_user()
    assert not off.has(KEY, MADE_WITH)
    off.put(bundle(tmp_path / "other", key(1)))
    assert [entry.key for entry in off.entries()] == [KEY]
    monkeypatch.setenv("GAUNTLET_CACHE_LIMIT", "much")
    with pytest.raises(UserError, match="GAUNTLET_CACHE_LIMIT"):
        Cache.of_user()


def test_several_at_once_never_see_half_an_entry(tmp_path: Path) -> None:
    """Writers of one key, readers of it and one that empties the cache, side by side."""
    sources = [bundle(tmp_path / f"made{number}", KEY, bytes([number]) * 200_000) for number in range(3)]
    wrong: list[object] = []

    def write(source: Bundle) -> None:
        try:
            for _ in range(30):
                Cache(tmp_path / "cache").put(source)
        except OSError as error:
            wrong.append(error)

    def read(number: int) -> None:
        for turn in range(30):
            taken = Cache(tmp_path / "cache").take(KEY, MADE_WITH, tmp_path / f"taken-{number}-{turn}")
            if taken is not None and len(set((taken.folder / "record.json").read_bytes())) != 1:
                wrong.append(taken.folder)

    def empty() -> None:
        for _ in range(30):
            Cache(tmp_path / "cache").prune(0)

    threads = [threading.Thread(target=write, args=(source,)) for source in sources]
    threads += [threading.Thread(target=read, args=(number,)) for number in range(2)]
    threads.append(threading.Thread(target=empty))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_what_a_kill_left_behind_goes_after_a_while(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put(bundle(tmp_path / "made"))
    half = tmp_path / "cache" / "ab" / f".{KEY}.part-x"
    half.mkdir()
    assert len(cache.entries()) == 1
    cache.prune(10**9)
    assert half.exists(), "another gauntlet may be writing it"
    os.utime(half, (0, 0))
    cache.prune(10**9)
    assert not half.exists()
    assert len(cache.entries()) == 1


def test_a_seal_says_what_is_wrong(tmp_path: Path) -> None:
    made = bundle(tmp_path / "made")
    made.check()
    (made.folder / "record.json").write_bytes(b"else")
    with pytest.raises(RunError, match=r"damaged: record\.json is not what was written"):
        made.check()
    with pytest.raises(RunError, match="cannot be used"):
        Bundle.read(tmp_path)
