"""Parts of a bench that were measured before it was stopped: the same command takes them and goes on."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa

from gauntlet.results import parquet
from gauntlet.results.files import failures_named


class Parts:
    """The parts in a folder of their own, each named by what it is of. One that was measured under other
    facts (plan, seed, machine, libraries) is not found, and so is measured again.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self._folder = folder
        self._identity = dict(identity)
        self.found = 0
        """How many were there."""

    def take(self, name: str, facts: Mapping[str, Any], measure: Callable[[], pa.Table]) -> pa.Table:
        """The samples of a part, measured under these facts unless they are there."""
        said = json.dumps([name, self._identity, dict(facts)], sort_keys=True)
        path = self._folder / f"{name}-{sha256(said.encode()).hexdigest()[:16]}.parquet"
        if path.exists():
            self.found += 1
            return parquet.read(path, "a part of a bench")
        samples = measure()
        with failures_named(f"write a part of a bench, {path}"):
            self._folder.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f".{path.name}.part-{os.getpid()}")
            parquet.write(samples, part)
            part.rename(path)
        return samples

    def remove(self) -> None:
        """Remove what was kept: the bench is whole."""
        shutil.rmtree(self._folder, ignore_errors=True)
