"""What goes between a campaign and the workers of a cluster: plain data (text, numbers, bytes), nothing else.

Out goes an *order*: a complete plan, the engine that it is for, the files that came with it by hash. Back
comes an *answer*: the run's record bundle, or why there is none, or the hashes of files that the worker has
not seen yet, whereupon the order is sent again with their content.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from gauntlet.errors import RunError
from gauntlet.executor.bundle import SEAL, Bundle
from gauntlet.executor.plan import RunPlan, canonical
from gauntlet.executor.play import Job, Played

VERSION = 1
"""Of orders and answers: workers of another version get no runs."""

Suit = Mapping[str, Mapping[str, str]]
"""All of a worker that must be equal to the campaign's: its `engine`, and the `code` that packs records."""

_NAMES = {
    "kernel_sha256": "kernel image",
    "guest_sha256": "guest program",
    "code": "version of Gauntlet",
    "measures": "version of Gauntlet",
}


def resource(suit: Suit) -> str:
    """The name under which workers of this suit offer themselves to the scheduler."""
    return f"gauntlet-{sha256(canonical([VERSION, suit])).hexdigest()[:16]}"


def difference(worker: Suit, campaign: Suit) -> str | None:
    """The first thing in which a worker differs from a campaign, in words without a full stop."""
    for part in ("engine", "code"):
        mine, theirs = worker[part], campaign[part]
        for name in sorted(mine.keys() | theirs.keys()):
            if mine.get(name) != theirs.get(name):
                what = _NAMES.get(name, name)
                here, there = _short(mine.get(name)), _short(theirs.get(name))
                return f"has another {what} ({here}; the campaign's is {there})"
    return None


def _short(value: str | None) -> str:
    if value is None:
        return "none"
    return value if len(value) <= 40 else f"{value[:12]}…"


def order(job: Job, engine: Mapping[str, str], own: Mapping[str, bool]) -> dict[str, Any]:
    """A job as it is sent, without the content of files; `own` are the paths of those that go with it, and
    whether they can be executed.
    """
    return {
        "version": VERSION,
        "key": job.key,
        "parts": dict(job.plan.parts),
        "files": dict(job.plan.files),
        "libraries": dict(job.plan.libraries),
        "engine": dict(engine),
        "own": dict(own),
        "capture": job.capture,
    }


def plan_of(sent: Mapping[str, Any]) -> RunPlan:
    """The plan of an order. Raises RunError when its key is not that of what came."""
    plan = RunPlan(sent["parts"], sent["files"], sent["libraries"])
    if plan.key(sent["engine"]) != sent["key"]:
        raise RunError("the plan that came is not that of its key")
    return plan


def content(paths: Mapping[str, str], wanted: Sequence[str]) -> dict[str, bytes]:
    """The content of files that are wanted by hash, of those at `paths` (path -> hash).

    Raises RunError for one that has changed since the run was planned.
    """
    found = {}
    for path, said in paths.items():
        if said in wanted:
            try:
                data = Path(path).read_bytes()
            except OSError as error:
                raise RunError(f"could not read {path} to send it to a worker: {error.strerror}") from error
            if sha256(data).hexdigest() != said:
                raise RunError(
                    f"{path} is not what it was when the runs were planned; leave it alone while they are "
                    "played. The same command plans them anew."
                )
            found[said] = data
    return found


def answer(played: Played) -> dict[str, Any]:
    """What a worker sends back of a run that was played."""
    bundle = played.bundle
    files = None
    if bundle is not None:
        files = {name: (bundle.folder / name).read_bytes() for name in (*bundle.files, SEAL)}
    return {"bundle": files, "reason": played.reason, "facts": dict(played.facts)}


def played_of(came: Mapping[str, Any], job: Job) -> Played:
    """The outcome of a job from its answer; a bundle is written to `job.into` and held against its hashes.

    Raises RunError when it is not a whole bundle of this job's key.
    """
    files = came["bundle"]
    if files is None:
        return Played(None, came["reason"], came["facts"])
    job.into.mkdir(parents=True)
    for name, data in files.items():
        parts = PurePosixPath(name).parts
        if not parts or ".." in parts or parts[0] == "/":
            raise RunError(f"a worker sent a bundle with a file that has no place in it: {name}")
        (job.into / name).parent.mkdir(parents=True, exist_ok=True)
        (job.into / name).write_bytes(data)
    bundle = Bundle.read(job.into)
    bundle.check()
    if bundle.key != job.key:
        raise RunError("a worker sent the bundle of another run")
    return Played(bundle, "", came["facts"])
