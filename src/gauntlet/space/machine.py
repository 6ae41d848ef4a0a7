"""The machine that times are of: what could matter to them."""

import os
import platform
from pathlib import Path


def _line(path: str, name: str) -> str | None:
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    found = (line.partition(":")[2].strip() for line in lines if line.startswith(name))
    return next(found, None)


def _whole(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return None


def description() -> dict[str, object]:
    """Processor, kernel, clock and governor; what the machine does not tell is none."""
    cpu = "/sys/devices/system/cpu"
    return {
        "processor": _line("/proc/cpuinfo", "model name"),
        "instructions": sorted(
            {"aes", "avx2", "pclmulqdq", "vaes", "sha_ni"}
            & set((_line("/proc/cpuinfo", "flags") or "").split())
        ),
        "cores": len(os.sched_getaffinity(0)),
        "architecture": platform.machine(),
        "kernel": platform.release(),
        "under_a_hypervisor": "hypervisor" in (_line("/proc/cpuinfo", "flags") or "").split(),
        "clock": _whole("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "governor": _whole(f"{cpu}/cpu0/cpufreq/scaling_governor"),
        "memory_total": _line("/proc/meminfo", "MemTotal"),
    }
