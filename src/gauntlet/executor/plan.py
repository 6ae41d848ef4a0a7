"""A complete plan of one run, and its run key.

The run key is a SHA-256 over canonical JSON of all that decides a run's bytes: the run object of the plan
with its format's version, every file and library that its flows need, and the engine. It does not cover what
only people see (id, labels, factors, place of the results, version of gauntlet), so renaming loses no run.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

KEY_FORMAT = {"format": "gauntlet-run-key", "version": 1}
PLAN_FORMAT = {"format": "gauntlet-plan", "version": 1}
"""Of the plan (docs/formats/plan.md): another version means other keys."""

RUN_ID = "run"
"""The id that every run has while it is played: what it is called in an experiment must not reach it."""


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and without blanks: equal values give equal bytes. Refuses NaN and infinity."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


@dataclass(frozen=True, slots=True)
class RunPlan:
    """All that a run needs to be played anywhere.

    `parts` is the run object (docs/formats/plan.md) without its id: canonical JSON of each of its values, so
    that plans of many runs can share what is equal in them. `files` are the host's files that its programs
    are made of, hash by path; `libraries` what these import, version by name.
    """

    parts: Mapping[str, bytes]
    files: Mapping[str, str] = field(default_factory=dict)
    libraries: Mapping[str, str] = field(default_factory=dict)

    def run(self, run_id: str = RUN_ID) -> dict[str, Any]:
        """The run object of the plan, under an id."""
        return {"id": run_id, **{name: json.loads(text) for name, text in self.parts.items()}}

    def key(self, identity: Mapping[str, str]) -> str:
        """The run key on an engine of this identity: 64 hexadecimal digits."""
        return run_key(self.parts, self.files, self.libraries, identity)


def run_key(
    parts: Mapping[str, bytes],
    files: Mapping[str, str],
    libraries: Mapping[str, str],
    identity: Mapping[str, str],
) -> str:
    """The run key of what `RunPlan` holds, on an engine of this identity."""
    # Canonical JSON of an object is that of its values behind its sorted names.
    run = b",".join(canonical(name) + b":" + text for name, text in sorted(parts.items()))
    around = canonical(
        {
            **KEY_FORMAT,
            "engine": dict(identity),
            "files": dict(files),
            "libraries": dict(libraries),
            "plan": PLAN_FORMAT,
        }
    )
    return hashlib.sha256(b'{"around":' + around + b',"run":{' + run + b"}}").hexdigest()
