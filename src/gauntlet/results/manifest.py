"""manifest.json: what made the results, so that they can be made again and compared."""

import hashlib
import importlib.metadata
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gauntlet import __version__
from gauntlet.errors import RunError, UserError
from gauntlet.results import layout
from gauntlet.results.differences import short
from gauntlet.results.files import json_bytes, read_json, write_whole

LIBRARIES = ("numpy", "pyarrow", "pydantic", "scipy", "altair", "vl-convert-python", "jinja2")
"""Libraries whose version can change what is computed, stored or shown."""


VERSION = 2
"""Of the results folder: its runs have keys since 2."""

_OF_ENGINE = {
    "ground": "ground",
    "kernel_sha256": "kernel image",
    "guest_sha256": "guest program",
    "player_sha256": "player",
}


class Session(BaseModel):
    """One stretch of work on the campaign: it has several when it was stopped and continued."""

    model_config = ConfigDict(extra="forbid")

    started: str
    """UTC, ISO 8601, to the second."""
    wall_s: float | None = None
    """None while it runs, and for a session that was killed."""
    runs: int = 0
    """Runs that this session played to their end."""
    cached: int = 0
    """Runs that it took from the cache."""
    workers: int | None = None


class Manifest(BaseModel):
    """The content of manifest.json. Only command, host and sessions may differ in equal campaigns."""

    model_config = ConfigDict(extra="forbid")

    format: str = "gauntlet-results"
    version: int = VERSION
    title: str = ""
    name: str = ""
    seed: int
    experiment_sha256: str
    runs_planned: int
    options: dict[str, Any] = Field(default_factory=dict)
    """Settings that change what is measured (repetitions, seed given on the command line, ...)."""
    command: list[str] = Field(default_factory=list)
    engine: dict[str, str] = Field(default_factory=dict)
    """What the engine says of itself: kernel release and its identity (hashes, settings)."""
    versions: dict[str, str] = Field(default_factory=dict)
    host: dict[str, str | int] = Field(default_factory=dict)
    sessions: list[Session] = Field(default_factory=list)

    @classmethod
    def new(
        cls,
        *,
        experiment: str,
        seed: int,
        runs_planned: int,
        name: str = "",
        title: str = "",
        command: list[str] | None = None,
        options: dict[str, Any] | None = None,
        engine: dict[str, str] | None = None,
        workers: int | None = None,
    ) -> Self:
        """A manifest for a campaign that starts now on this host.

        `experiment` is the text of the experiment file, `engine` what ran it: `kernel` (release),
        `kernel_sha256`, `guest_sha256`; of the host ground `ground`, `kernel`, `player_sha256`, `processor`,
        `cores`.
        """
        return cls(
            name=name,
            title=title,
            seed=seed,
            experiment_sha256=hashlib.sha256(experiment.encode()).hexdigest(),
            runs_planned=runs_planned,
            options=options or {},
            command=command or [],
            engine=engine or {},
            versions=_versions(),
            host=_host(),
            sessions=[Session(started=_now(), workers=workers)],
        )

    @property
    def in_real_time(self) -> bool:
        """Whether the runs are of the host ground: the same plan gives similar results, not the same."""
        return self.engine.get("ground") == "host"

    @classmethod
    def read(cls, results: Path) -> Self:
        """Read the manifest of a results folder; RunError when it is damaged."""
        path = results / layout.MANIFEST
        try:
            return cls.model_validate(read_json(path, "the manifest"))
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            raise RunError(f"the manifest {path} is damaged: {key}: {first['msg']}") from error

    def write(self, results: Path) -> None:
        """Write the manifest, whole or not at all."""
        write_whole(results / layout.MANIFEST, json_bytes(self.model_dump()))

    def continued_by(self, other: "Manifest", results: Path) -> "Manifest":
        """`other` with the sessions of this manifest before its own.

        Raises UserError when the runs of this one are of another engine, or of a version of gauntlet that
        gave them no keys: nobody could tell which of them are those of `other`.
        """
        if self.version < VERSION:
            raise UserError(
                f"{results} was made by an older version of gauntlet, which cannot be continued; choose "
                f"another results folder (`gauntlet report {results}` still shows this one)"
            )
        names = (self.engine.keys() | other.engine.keys()) - {"kernel"}
        # Of engines of two grounds everything differs: the ground says it best.
        for name in sorted(names, key=lambda name: (name != "ground", name)):
            what = _OF_ENGINE.get(name, f"engine setting '{name}'")
            mine, theirs = self.engine.get(name), other.engine.get(name)
            if mine != theirs:
                raise UserError(
                    f"{results} holds results of another {what} ({short(mine)}; now {short(theirs)}); choose "
                    "another results folder with --out, or remove that one"
                )
        return other.model_copy(update={"sessions": [*self.sessions, *other.sessions]})

    def with_progress(
        self, runs: int, cached: int, wall_s: float, *, workers: int | None = None
    ) -> "Manifest":
        """This manifest with the last session brought up to date: runs played and taken, its wall time, and
        its workers where they were not known when it began.
        """
        now: dict[str, Any] = {"runs": runs, "cached": cached, "wall_s": round(wall_s, 3)}
        if workers is not None:
            now["workers"] = workers
        last = self.sessions[-1].model_copy(update=now)
        return self.model_copy(update={"sessions": [*self.sessions[:-1], last]})


def _versions() -> dict[str, str]:
    versions = {"gauntlet": __version__, "python": platform.python_version()}
    for library in LIBRARIES:
        try:
            versions[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def _host() -> dict[str, str | int]:
    """The machine, without its name or its user: what may matter for speed, and nothing personal."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        return platform.processor()
    return platform.processor()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
