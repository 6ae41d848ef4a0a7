"""The machine itself: processor, operating system, Python, cores."""

import os
import platform
import sys
from pathlib import Path

from gauntlet.engine import cgroup
from gauntlet.engine.doctor.check import Check, count


def system(name: str | None = None, release: str | None = None, processor: str | None = None) -> Check:
    """Whether guests exist for this operating system and processor; by default those of this host."""
    name, processor = name or platform.system(), processor or platform.machine()
    ok = name == "Linux" and processor == "x86_64"
    kind = f"{name} {release or platform.release()} on {processor}"
    return Check("machine", ok, kind, "" if ok else "Use a Linux host with an x86-64 processor.")


def python(version: tuple[int, ...] = sys.version_info[:3]) -> Check:
    """Whether this Python is new enough."""
    return Check("python", version >= (3, 11), ".".join(map(str, version)), "Use Python 3.11 or newer.")


def cores(root: Path = Path("/"), allowed: int | None = None, present: int | None = None) -> Check:
    """How many guests play side by side: cores that this process may run on, and its quota of CPU time."""
    allowed = len(os.sched_getaffinity(0)) if allowed is None else allowed
    present = (os.cpu_count() or allowed) if present is None else present
    limits = cgroup.limits(root)
    guests = cgroup.whole_cores(limits.cores, allowed)
    versions = " and ".join(f"v{version}" for version in limits.versions)
    said = [f"{allowed} of {present} may be used" if allowed < present else f"{present} there"]
    if limits.cores is not None:
        said.append(f"control groups ({versions}) give the time of {limits.cores:.2g}")
    said.append(f"{count(guests)} side by side")
    starved = limits.cores is not None and limits.cores < 1
    return Check(
        "cores",
        not starved,
        ", ".join(said),
        "Results do not depend on it, but everything takes longer: raise the quota (docker run --cpus, "
        "CPUQuota=)."
        if starved
        else "",
        required=False,
    )
