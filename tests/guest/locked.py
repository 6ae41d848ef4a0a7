"""What a program of the workspace is built of, by Cargo.lock: the packages that it is reached from."""

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

Package = Mapping[str, Any]
"""A `[[package]]` of Cargo.lock: name, version, of one that is not the workspace's own source and checksum,
and its `dependencies`.
"""


def packages(lock: str, root: str) -> list[Package]:
    """The package `root` of a Cargo.lock and all that it depends on, at whatever distance, sorted.

    Cargo.lock knows no kinds: what only tests or a feature that is off ask for is among them.
    """
    every: dict[str, list[Package]] = {}
    for package in tomllib.loads(lock)["package"]:
        every.setdefault(package["name"], []).append(package)
    found: dict[tuple[str, ...], Package] = {}
    left = [_named(every, root)]
    while left:
        package = left.pop()
        if _key(package) not in found:
            found[_key(package)] = package
            left += [_named(every, wanted) for wanted in package.get("dependencies", [])]
    return [found[key] for key in sorted(found)]


def digest(of: Sequence[Package]) -> str:
    """One hash (SHA-256) of the packages' names, versions, sources and checksums."""
    lines = [" ".join((*_key(package), package.get("checksum", ""))) for package in of]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _named(every: Mapping[str, Sequence[Package]], wanted: str) -> Package:
    """The package that a dependency names: "name", and where that is not one package also "version" and
    "(source)".
    """
    name, *more = wanted.split()
    parts = {part.strip("()") for part in more}
    (package,) = (it for it in every[name] if parts <= {it["version"], it.get("source", "")})
    return package


def _key(package: Package) -> tuple[str, ...]:
    return package["name"], package["version"], package.get("source", "")
