"""What was fixed before a study was played: rules, experiments, and a fresh seed.

Rules are written while looking at results, so results that were there before say little for them. A
registration names every rule and experiment file by its hash, and a seed of which no result has been seen. It
is committed before the runs. A claim counts only when its rule is the registered one and the runs that it is
decided from are the registered ones.
"""

import json
from collections.abc import Mapping
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

"""


class _Experiment(Strict):
    """[experiment.NAME]"""

    sha256: str
    runs: int = Field(ge=1)


class _Bench(Strict):
    """[bench.NAME]"""

    plan_sha256: str


class _File(Strict):
    """The whole of registration.toml."""

    seed: int
    experiment: dict[str, _Experiment]
    bench: dict[str, _Bench] = Field(default_factory=dict)
    claim: dict[str, str]


@dataclass(frozen=True)
class Registration:
    """A registration as read."""

    seed: int
    """Of every experiment, in place of the one in its file."""
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
        return cls(file.seed, experiments, benches, file.claim, sha256_of_file(path))

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
                if (part.get("seed"), part.get("plan_sha256")) != (self.seed, self.benches.get(name)):
                    return f"{name} has not been measured as it was registered"
                continue
            played = (part.get("experiment_sha256"), part.get("runs"))
            if (part.get("seed"), *played) != (self.seed, *self.experiments.get(name, ("", 0))):
                return f"{name} has not been played as it was registered"
        return ""


def register(study: Study, seed: int) -> Path:
    """Write the study's registration and return its place. Raises UserError when there is one already."""
    path = study.home / REGISTRATION
    if path.exists():
        raise UserError(
            f"{path} is there, and what is registered stays; remove the file to begin a new registration, "
            "with a seed of its own."
        )
    claims = ledger.load(study.ledger)
    given = {
        "seed": seed,
        "experiment": {
            it.name: {"sha256": sha256_of_file(it.file), "runs": len(expand(load_experiment(it.file)))}
            for it in study.experiments
        },
        "bench": {it.name: {"plan_sha256": it.bench.sha256(quick=False)} for it in study.benches},
        "claim": {claim.id: _hash_of(study, claim) for claim in claims},
    }
    if not study.benches:
        del given["bench"]
    text = _HEAD.format(key=study.key, seed=seed) + tomli_w.dumps(given)
    with failures_named(f"write {path}"):
        write_whole(path, text.encode())
    return path


def _hash_of(study: Study, claim: Claim) -> str:
    """Hash of all that decides a claim besides the results."""
    beside = sorted({name for rule in claim.rules for name in rule.files(study)})
    parts = [claim.canonical, *(sha256_of_file(study.home / name) for name in beside)]
    return sha256(json.dumps(parts).encode()).hexdigest()
