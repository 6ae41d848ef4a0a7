"""AWS-LC on other processors: cross-compiled, its size by symbols, its instructions step by step under qemu.

What is compiled is the C library that `flight-links` uses, from the source that cargo has, and a small
program around it (crates/flight-links/elsewhere/probe.c). Rust's part is not in it: that would take Rust's
standard library for each of these processors.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gauntlet.errors import RunError, UserError
from gauntlet.space.footprint import symbols

ROOT = Path(__file__).parents[3]
PROBE = ROOT / "crates" / "flight-links" / "elsewhere" / "probe.c"

Tell = Callable[[str], None]

_STEP = b"Trace "
"""With what qemu begins the line of a translated block, of one instruction each here."""

READ_OCTETS = 1 << 20
"""So much of what qemu says is read at once."""


@dataclass(frozen=True)
class Architecture:
    """A processor, and what compiles and runs for it."""

    name: str
    tools: str
    """With what the names of its compiler and binutils begin."""
    processor: str
    """As CMake names it."""
    emulator: str
    cpu: str
    """The one that qemu is."""
    libraries: str
    """Where the C library of a foreign processor lies; empty for one's own."""
    packages: tuple[str, ...]
    """Of Debian."""

    def tool(self, name: str) -> str:
        """A tool of its compiler."""
        return f"{self.tools}-{name}"

    @property
    def run(self) -> list[str]:
        """The words that run its programs."""
        return [self.emulator, "-cpu", self.cpu, *(["-L", self.libraries] if self.libraries else [])]


ARCHITECTURES = (
    # TCG's `max` has AES, PCLMUL and AVX2, and no AVX-512.
    Architecture("x86-64", "x86_64-linux-gnu", "x86_64", "qemu-x86_64", "max", "", ("gcc",)),
    Architecture(
        "aarch64",
        "aarch64-linux-gnu",
        "aarch64",
        "qemu-aarch64",
        # With the instructions for AES.
        "cortex-a53",
        "/usr/aarch64-linux-gnu",
        ("gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"),
    ),
    Architecture(
        "armv7",
        "arm-linux-gnueabihf",
        "armv7-a",
        "qemu-arm",
        # With NEON, and no instructions for AES.
        "cortex-a15",
        "/usr/arm-linux-gnueabihf",
        ("gcc-arm-linux-gnueabihf", "libc6-dev-armhf-cross"),
    ),
)


def ready() -> None:
    """Raise UserError when something is not installed, with the packages that bring it."""
    if not PROBE.is_file() or shutil.which("cargo") is None:
        raise UserError("AWS-LC is compiled from its source, by cargo's copy of it in a working copy.")
    needed: dict[str, tuple[str, ...]] = {tool: (tool,) for tool in ("cmake", "make")}
    for it in ARCHITECTURES:
        needed |= {it.tool("gcc"): it.packages, it.tool("nm"): it.packages, it.emulator: ("qemu-user",)}
    lacking = {tool: packages for tool, packages in needed.items() if shutil.which(tool) is None}
    lacking |= {
        it.libraries: it.packages for it in ARCHITECTURES if it.libraries and not Path(it.libraries).is_dir()
    }
    if lacking:
        packages = " ".join(dict.fromkeys(it for packages in lacking.values() for it in packages))
        raise UserError(
            f"{', '.join(lacking)}: not installed; in a working copy `scripts/system-packages.sh {packages}` "
            "installs what is missing."
        )


def library() -> tuple[Path, str]:
    """Source and version of the AWS-LC that cargo has for this project."""
    platform = "--filter-platform=x86_64-unknown-linux-gnu"
    said = _output(["cargo", "metadata", "--format-version=1", "--locked", platform], cwd=ROOT)
    (found,) = (it for it in json.loads(said)["packages"] if it["name"] == "aws-lc-sys")
    return Path(found["manifest_path"]).parent / "aws-lc", found["version"]


def built(architecture: Architecture, tell: Tell) -> Path:
    """The program for a processor; beside it lies the library. What is there is not compiled again."""
    source, version = library()
    folder = ROOT / "target" / "elsewhere" / f"{architecture.name}-{version}"
    archive = folder / "crypto" / "libcrypto.a"
    if not archive.is_file():
        tell(f"Compiling AWS-LC for {architecture.name}: some minutes, and once.")
        _output(["cmake", "-S", str(source), "-B", str(folder), *_options(architecture)])
        cores = len(os.sched_getaffinity(0))
        _output(["cmake", "--build", str(folder), "--target", "crypto", "--parallel", str(cores)])
    program = folder / "probe"
    # What is not called is left out, as Rust's linker leaves it out.
    some = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{source / 'include'}"]
    linked = [str(PROBE), str(archive), "-pthread", "-Wl,--gc-sections", "-o", str(program)]
    _output([architecture.tool("gcc"), *some, *linked])
    return program


def _options(architecture: Architecture) -> list[str]:
    """What CMake is told: the library alone, as the crate aws-lc-sys has it, in sections to be left out.

    Without the entropy of the processor's jitter, which is millions of instructions before the first key.
    """
    given = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": architecture.processor,
        "CMAKE_C_COMPILER": architecture.tool("gcc"),
        "CMAKE_C_FLAGS": "-ffunction-sections -fdata-sections",
        # CMake runs programs that look for a known mistake of the compiler.
        "CMAKE_CROSSCOMPILING_EMULATOR": ";".join(architecture.run),
        **dict.fromkeys(("BUILD_TESTING", "BUILD_TOOL", "BUILD_LIBSSL", "BUILD_SHARED_LIBS"), "OFF"),
        "ENABLE_SOURCE_MODIFICATION": "OFF",
        **dict.fromkeys(("DISABLE_PERL", "DISABLE_GO", "DISABLE_CPU_JITTER_ENTROPY"), "ON"),
    }
    return [f"-D{name}={value}" for name, value in given.items()]


def size(architecture: Architecture, program: Path) -> dict[str, int]:
    """Octets of code and data that the program has of the library, by its symbols."""
    nm = architecture.tool("nm")
    archive = program.parent / "crypto" / "libcrypto.a"
    defined = _output([nm, "--defined-only", str(archive)])
    own = {found[1] for found in re.finditer(r"^[0-9a-f]+ \w (\S+)$", defined, re.MULTILINE)}
    octets = {"code_octets": 0, "data_octets": 0}
    for length, kind, name in symbols(_output([nm, "--print-size", str(program)])):
        if name in own:
            octets["code_octets" if kind in "tTwW" else "data_octets"] += length
    if not octets["code_octets"]:
        raise RunError(f"{program} has nothing of {archive}.")
    return octets


def instructions(architecture: Architecture, program: Path, words: Sequence[str]) -> int:
    """Instructions of a run of the program from its first to its last, those of its start among them."""
    step = _one_at_a_time(architecture.emulator)
    command = [*architecture.run, step, "-d", "exec,nochain", str(program), *words]
    count, tail = 0, b""
    with subprocess.Popen(command, stderr=subprocess.PIPE) as running:
        assert running.stderr is not None
        for chunk in iter(partial(running.stderr.read, READ_OCTETS), b""):
            said = tail + chunk
            count += said.count(_STEP)
            # Too short for a whole one.
            tail = said[-len(_STEP) + 1 :]
    if running.returncode != 0 or not count:
        raise RunError(f"{' '.join(command)} counted {count} and ended with {running.returncode}.")
    return count


def _one_at_a_time(emulator: str) -> str:
    """The option by which qemu translates each instruction for itself, which newer ones name otherwise."""
    return "-one-insn-per-tb" if "one-insn-per-tb" in _output([emulator, "-help"]) else "-singlestep"


def _output(command: Sequence[str], cwd: Path | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout
