"""The golden bytes: results of a small campaign as hashes that are committed, for `test_golden_bytes.py`.

    make golden        plays the campaign and keeps what it gives (tests/guest/data/golden/hashes.json)

**What is hashed.** Of each run: the record with its messages, socket samples and exchanges, and its packets,
all to the bit. Of each table: what it says, with floating-point numbers to nine significant digits, because
their last bits are those of the host's NumPy and SciPy, which nothing here fixes; files as such are not
compared, because their bytes are those of one version of the Parquet writer. What is written for people (the
sentences of the certificate) and what names versions (`guest` in the record) is left out.

**The key** is what results are allowed to depend on:

- the kernel's source (a hash of the tarball: Debian 12 and 13 have different ones, so hashes of several
  sources stand side by side) and its recipe (configuration, patches, build script);
- the packages of `Cargo.lock` that the guest program `gauntlet-player` is reached from, by name, version,
  source and checksum (`locked.py`): TLS, QUIC and HTTP come from there. What only other programs are built
  of (web server, attackers) changes nothing. It is finer than need be, for a new version of a library that
  only the player's tests use changes it too: `make golden` then says that each hash is what it was. And it
  does not stand for the project's own code, which is no part of the key on purpose: whether a change of it
  moves results is what the test asks.

**What is no part of the key**, because it must not decide anything: processor, number of cores, load,
distribution, versions of gcc, rustc and Python, the profile with which the guest program is built. Virtual
time does not know how long code takes, and Rust's arithmetic is that of IEEE 754 in every profile. One door
stands open: functions such as `exp` and `ln` are those of the host's C library, and their last bit may differ
between its versions and between processors; who uses them rounds to bytes and nanoseconds. Where the test
fails on one host alone, look there first, then at NumPy, which draws the line of `line.toml`.

Left out altogether: programs of the host that carry flows (aioquic, pyftpdlib). Their versions are the
host's.
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gauntlet.engine import kernel
from tests.guest import locked
from tests.guest.conftest import ROOT, gauntlet

HOME = Path(__file__).parent / "data" / "golden"
HASHES = HOME / "hashes.json"
CAMPAIGNS = ("stacks", "line")
COMMAND = "make golden"
PLAYER = "gauntlet-player"

Hashes = dict[str, str]
"""Hash of each part of the results by its name: `stacks/sctp_rep-001/packets`, `stacks/tables/flows`."""

_HEX_DIGITS = 16
_SIGNIFICANT_DIGITS = 9
_COLUMNAR = ("messages", "sockets", "exchanges")
_FOR_PEOPLE = {"sentence", "measured", "expected"}


@dataclass(frozen=True)
class Key:
    """What results may depend on."""

    source: str
    recipe: str
    cargo_lock: str
    """The player's packages in Cargo.lock."""
    version: str

    @staticmethod
    def present() -> "Key":
        """The key of the kernel that is built and of the player by the Cargo.lock that is there."""
        image = kernel.describe()
        lock = (ROOT / "Cargo.lock").read_text()
        return Key(image.source_hash, image.recipe_hash, of_lock(lock), image.version)

    def __str__(self) -> str:
        return (
            f"the kernel's source {self.source} (Linux {self.version}), its recipe {self.recipe} and the "
            f"player's packages in Cargo.lock {self.cargo_lock}"
        )


@dataclass(frozen=True)
class Golden:
    """The hashes that are kept: of one recipe and one player, for each source of the kernel."""

    recipe: str = ""
    cargo_lock: str = ""
    kernels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @staticmethod
    def read() -> "Golden":
        """What is committed; nothing where there is no file yet."""
        return Golden(**json.loads(HASHES.read_text())) if HASHES.exists() else Golden()

    def of(self, key: Key) -> Hashes | None:
        """The hashes of a key; None where the key is not known."""
        known = self.kernels.get(key.source)
        if known is None or (self.recipe, self.cargo_lock) != (key.recipe, key.cargo_lock):
            return None
        return dict(known["hashes"])

    def with_key(self, key: Key, hashes: Hashes) -> "Golden":
        """These hashes added, and what another recipe or another player gave dropped."""
        same = (self.recipe, self.cargo_lock) == (key.recipe, key.cargo_lock)
        kernels = dict(self.kernels) if same else {}
        kernels[key.source] = {"linux": key.version, "hashes": hashes}
        return Golden(key.recipe, key.cargo_lock, dict(sorted(kernels.items())))

    def write(self) -> None:
        """Keep them."""
        HASHES.write_text(json.dumps(vars(self), indent=1) + "\n")


def of_lock(lock: str) -> str:
    """The player's part of a key, from the text of a Cargo.lock."""
    return locked.digest(locked.packages(lock, PLAYER))[:_HEX_DIGITS]


def complaint(key: Key, kept: Hashes | None, found: Hashes) -> str | None:
    """One sentence on what is not as it should be; None if all is."""
    if kept is None:
        return f"No golden bytes are kept for {key}: type `{COMMAND}` and commit {HASHES.relative_to(ROOT)}."
    if not (differing := difference(kept, found)):
        return None
    return (
        f"Results are not what they were under {key}: {differing}; if that is meant, type `{COMMAND}` and "
        "say in the commit why."
    )


def difference(kept: Hashes, found: Hashes) -> str:
    """How many parts differ, and which ones; empty if none does."""
    differing = sorted(name for name in kept.keys() | found.keys() if kept.get(name) != found.get(name))
    if not differing:
        return ""
    return f"{len(differing)} of {len(kept)} parts differ ({', '.join(differing)})"


def play(folder: Path) -> Hashes:
    """Play the campaigns into an empty folder and hash what they give."""
    hashes: Hashes = {}
    for name in CAMPAIGNS:
        out = folder / name
        answer = gauntlet("run", HOME / f"{name}.toml", "--out", out, "--capture", "--quiet")
        if answer.code != 0:
            raise RuntimeError(f"the campaign {name} of the golden bytes did not end well: {answer.err}")
        hashes.update({f"{name}/{part}": value for part, value in of_results(out)})
    return hashes


def of_results(results: Path) -> Iterable[tuple[str, str]]:
    """The hash of each part of a results folder."""
    for run in sorted((results / "runs").iterdir()):
        yield f"{run.name}/record", _record(run)
        yield f"{run.name}/packets", _hex(hashlib.sha256((run / "capture.pcapng").read_bytes()))
    for table in sorted((results / "tables").glob("*.parquet")):
        digest = hashlib.sha256()
        _add_table(digest, pq.read_table(table), exact=False)
        yield f"tables/{table.stem}", _hex(digest)


def _record(run: Path) -> str:
    record = json.loads((run / "record.json").read_text())
    del record["guest"]
    digest = hashlib.sha256(json.dumps(record, sort_keys=True).encode())
    for name in _COLUMNAR:
        file = run / f"{name}.parquet"
        if file.exists():
            digest.update(name.encode())
            _add_table(digest, pq.read_table(file), exact=True)
    return _hex(digest)


def _add_table(digest: "hashlib._Hash", table: pa.Table, *, exact: bool) -> None:
    """Columns by name, type and values; no column is confused with another, and null with nothing."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in _FOR_PEOPLE:
            continue
        values = column.to_pylist()
        if not exact and pa.types.is_floating(column.type):
            values = [
                None if value is None else float(f"{value:.{_SIGNIFICANT_DIGITS}g}") for value in values
            ]
        digest.update(f"{name} {column.type} {len(values)} {values!r}\n".encode())


def _hex(digest: "hashlib._Hash") -> str:
    return digest.hexdigest()[:_HEX_DIGITS]


def main() -> None:
    """Play the campaign and keep its hashes under the present key."""
    folder = Path(tempfile.mkdtemp(prefix="gauntlet-golden-"))
    try:
        key, golden, hashes = Key.present(), Golden.read(), play(folder)
    finally:
        shutil.rmtree(folder)
    golden.with_key(key, hashes).write()
    earlier = golden.kernels.get(key.source)
    said = (
        "they are the first of this source"
        if earlier is None
        else difference(earlier["hashes"], hashes) or "each is what it was before"
    )
    print(f"{len(hashes)} hashes are kept for {key}: {said}.")


if __name__ == "__main__":
    main()
