"""What was fixed before a study was played: rules, experiments, and a fresh seed.

Rules are written while looking at results, so results that were there before say little for them. A
registration names every rule and experiment file by its hash, and a seed of which no result has been seen. It
is committed before the runs. A claim counts only when its rule is the registered one and the runs that it is
decided from are the registered ones. A part whose method changes before it is played is registered anew, with
a seed of its own; the others and their runs stay what they are.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import tomli_w
from pydantic import Field

from gauntlet.engine.hashes import sha256_of_file
from gauntlet.errors import UserError
from gauntlet.experiment import expand, load_experiment
from gauntlet.experiment.strict import Strict
from gauntlet.experiment.tomlfile import checked, toml
from gauntlet.results.files import failures_named, write_whole
from gauntlet.studies import ledger
from gauntlet.studies.ledger import Claim
from gauntlet.studies.model import Study

REGISTRATION = "registration.toml"
_HEAD = """\
# What was fixed before the study was played, by `gauntlet reproduce {key} --register {seed}`.
# A claim counts only when its rule and the runs that it is decided from are these (docs/formats/study.md).
{anew}
"""


class _Experiment(Strict):
    """[experiment.NAME]"""

    sha256: str
    runs: int = Field(ge=1)
    seed: int | None = None


class _Bench(Strict):
    """[bench.NAME]"""

    plan_sha256: str
    seed: int | None = None


class _File(Strict):
    """The whole of registration.toml."""

    seed: int
    experiment: dict[str, _Experiment]
    bench: dict[str, _Bench] = Field(default_factory=dict)
    claim: dict[str, str]

    @property
    def seeds(self) -> dict[str, int]:
        """Part -> its own seed, of those that were registered anew."""
        parts: dict[str, _Experiment | _Bench] = {**self.experiment, **self.bench}
        return {name: it.seed for name, it in parts.items() if it.seed is not None}


@dataclass(frozen=True)
class Registration:
    """A registration as read."""

    seed: int
    """Of every experiment and bench that has none of its own, in place of the one in its file."""
    seeds: Mapping[str, int]
    """Name -> seed of those that were registered anew."""
    experiments: Mapping[str, tuple[str, int]]
    """Name -> hash of the experiment file, number of runs."""
    benches: Mapping[str, str]
    """Name -> hash of what the bench measures in full."""
    claims: Mapping[str, str]
    """Id -> hash of how it is decided."""
    sha256: str
    """Hash of the registration's file."""

    @classmethod
    def of(cls, study: Study) -> Self | None:
        """The study's registration; None when it has none. Raises UserError when it is no registration."""
        path = study.home / REGISTRATION
        if not path.exists():
            return None
        file = checked(_File, toml(path, "registration"), str(path))
        experiments = {name: (it.sha256, it.runs) for name, it in file.experiment.items()}
        benches = {name: it.plan_sha256 for name, it in file.bench.items()}
        return cls(file.seed, file.seeds, experiments, benches, file.claim, sha256_of_file(path))

    def seed_of(self, name: str) -> int:
        """The seed of an experiment or bench."""
        return self.seeds.get(name, self.seed)

    def departure(self, study: Study, claim: Claim, manifest: Mapping[str, Mapping[str, Any]]) -> str:
        """Why a claim is not decided as it was registered, in one clause; empty when it is.

        `manifest` says of what runs the results are, by experiment and bench (`Summary.manifest`).
        """
        if claim.id not in self.claims:
            return "it was added after the registration"
        if self.claims[claim.id] != _hash_of(study, claim):
            return "how it is decided was changed after the registration"
        for name in claim.experiments(study):
            part = manifest.get(name, {})
            if study.bench(name) is not None:
                if (part.get("seed"), part.get("plan_sha256")) != (
                    self.seed_of(name),
                    self.benches.get(name),
                ):
                    return f"{name} has not been measured as it was registered"
                continue
            played = (part.get("experiment_sha256"), part.get("runs"))
            if (part.get("seed"), *played) != (self.seed_of(name), *self.experiments.get(name, ("", 0))):
                return f"{name} has not been played as it was registered"
        return ""


def register(study: Study, seed: int) -> Path:
    """Write the study's registration and return its place. Raises UserError when there is one already."""
    path = study.home / REGISTRATION
    if path.exists():
        raise UserError(
            f"{path} is there, and what is registered stays; remove the file to begin a new registration, "
            "with a seed of its own, or register one part anew with --only."
        )
    claims = ledger.load(study.ledger)
    return _write(
        study,
        _File(
            seed=seed,
            experiment={it.name: _experiment(study, it.name) for it in study.experiments},
            bench={it.name: _bench(study, it.name) for it in study.benches},
            claim={claim.id: _hash_of(study, claim) for claim in claims},
        ),
    )


def register_anew(study: Study, seed: int, parts: Collection[str]) -> Path:
    """Register some experiments or benches as they are now, with a seed of their own, and with them the
    claims that are decided from these alone. Everything else stays registered as it was.

    Raises UserError when the study has no registration, for an unknown part, and for a seed that was
    registered before, whose results may have been seen.
    """
    path = study.home / REGISTRATION
    if not path.exists():
        raise UserError(f"{path} is not there: nothing can be registered anew. Leave --only out.")
    file = checked(_File, toml(path, "registration"), str(path))
    if seed in {file.seed, *file.seeds.values()}:
        raise UserError(f"The seed {seed} was registered before; choose one of which nothing has been seen.")
    for name in parts:
        if study.bench(name) is not None:
            file.bench[name] = _bench(study, name, seed)
        else:
            file.experiment[study.experiment(name).name] = _experiment(study, name, seed)
    for claim in ledger.load(study.ledger):
        needed = set(claim.experiments(study))
        if needed and needed <= set(parts):
            file.claim[claim.id] = _hash_of(study, claim)
    return _write(study, file)


def _experiment(study: Study, name: str, seed: int | None = None) -> _Experiment:
    path = study.experiment(name).file
    return _Experiment(sha256=sha256_of_file(path), runs=len(expand(load_experiment(path))), seed=seed)


def _bench(study: Study, name: str, seed: int | None = None) -> _Bench:
    part = study.bench(name)
    assert part is not None
    return _Bench(plan_sha256=part.bench.sha256(quick=False), seed=seed)


def _write(study: Study, file: _File) -> Path:
    path = study.home / REGISTRATION
    given = file.model_dump(exclude_none=True)
    if not file.bench:
        del given["bench"]
    anew: dict[int, list[str]] = {}
    for name, seed in file.seeds.items():
        anew.setdefault(seed, []).append(name)
    lines = [
        f"# Registered anew: `gauntlet reproduce {study.key} --register {seed}"
        + "".join(f" --only {name}" for name in names)
        + "`.\n"
        for seed, names in anew.items()
    ]
    head = _HEAD.format(key=study.key, seed=file.seed, anew="".join(lines))
    with failures_named(f"write {path}"):
        write_whole(path, (head + tomli_w.dumps(given)).encode())
    return path


def _hash_of(study: Study, claim: Claim) -> str:
    """Hash of all that decides a claim besides the results."""
    beside = sorted({name for rule in claim.rules for name in rule.files(study)})
    parts = [claim.canonical, *(sha256_of_file(study.home / name) for name in beside)]
    return sha256(json.dumps(parts).encode()).hexdigest()
