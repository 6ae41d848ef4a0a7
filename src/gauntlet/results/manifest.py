"""manifest.json: what made the results, so that they can be made again and compared."""

import hashlib
import importlib.metadata
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

import gauntlet
from gauntlet.errors import RunError, UserError
from gauntlet.results import layout
from gauntlet.results.files import json_bytes, read_json, write_whole

LIBRARIES = ("numpy", "pyarrow", "pydantic", "scipy", "altair", "vl-convert-python", "jinja2")
"""Libraries whose version can change what is computed, stored or shown."""


class Session(BaseModel):
    """One stretch of work on the campaign: it has several when it was stopped and continued."""

    model_config = ConfigDict(extra="forbid")

    started: str
    """UTC, ISO 8601, to the second."""
    wall_s: float | None = None
    """None while it runs, and for a session that was killed."""
    runs: int = 0
    """Runs that this session finished."""
    workers: int | None = None


class Manifest(BaseModel):
    """The content of manifest.json. Only command, host and sessions may differ in equal campaigns."""

    model_config = ConfigDict(extra="forbid")

    format: str = "gauntlet-results"
    version: int = 1
    title: str = ""
    name: str = ""
    seed: int
    experiment_sha256: str
    runs_planned: int
    options: dict[str, Any] = Field(default_factory=dict)
    """Settings that change what is measured (repetitions, seed given on the command line, ...)."""
    command: list[str] = Field(default_factory=list)
    engine: dict[str, str] = Field(default_factory=dict)
    """Kernel release, kernel image and guest hashes: as the engine states them."""
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
        `kernel_sha256`, `guest_sha256`.
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
        """This manifest with the session of `other` added; the newer command, engine and versions count.

        Raises UserError when `other` is of another experiment, seed or setting: its runs would not be
        comparable with those that are there.
        """
        for what, mine, theirs in (
            ("experiment file", self.experiment_sha256[:12], other.experiment_sha256[:12]),
            ("seed", self.seed, other.seed),
            ("set of options", self.options, other.options),
            ("kernel image", self.engine.get("kernel_sha256"), other.engine.get("kernel_sha256")),
            ("guest program", self.engine.get("guest_sha256"), other.engine.get("guest_sha256")),
        ):
            if mine != theirs:
                raise UserError(
                    f"{results} holds results of another {what} ({mine}; now {theirs}); choose another "
                    "results folder with --out, or remove that one"
                )
        return other.model_copy(update={"sessions": [*self.sessions, *other.sessions]})

    def with_progress(self, runs: int, wall_s: float) -> "Manifest":
        """This manifest with the last session brought up to date: runs finished in it and its wall time."""
        last = self.sessions[-1].model_copy(update={"runs": runs, "wall_s": round(wall_s, 3)})
        return self.model_copy(update={"sessions": [*self.sessions[:-1], last]})


def sha256_of_file(path: Path) -> str:
    """Hash of a file's content; RunError when it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise RunError(f"could not read {path} to hash it: {error.strerror}") from error


def _versions() -> dict[str, str]:
    versions = {"gauntlet": gauntlet.__version__, "python": platform.python_version()}
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
