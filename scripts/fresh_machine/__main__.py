"""`make fresh-machine`, `make fresh-wheels`: README's commands on a bare Debian, as a new user types them.

Usage: python3 -m scripts.fresh_machine [SUITE[:WORD[,WORD]] ...] [--wheels FOLDER] [--folder FOLDER] [--keep]

SUITE is a release of Debian; WORDs choose among README's make commands. Without any: all of README's commands
on Debian 12 (bookworm) and `make demo` on Debian 13 (trixie). A bare root is given what README asks for
(Python, make, git, certificates; the Rust toolchain of this machine, read-only) and how this machine reaches
its package registries; caches, wheels and the home are empty. The committed state of this checkout is tried.
The Rust parts that one root compiled serve the next ones, whose toolchain is the same; a root that is tried
alone compiles all.

With --wheels it is README's way without a compiler: the root has Python, its venv and certificates, and an
ordinary user installs the wheels of FOLDER, plays the demo, asks the doctor, and checks a study.

Needs root.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from scripts.fresh_machine import registries, root, ways
from scripts.fresh_machine.ways import Way

ROOT = Path(__file__).resolve().parent.parent.parent
SET_UP = "Gauntlet is set up."
"""What the Makefile says between set-up and the rest."""

_INSIDE = "GAUNTLET_FRESH_MACHINE_INSIDE"
_DEFAULT = ("bookworm", "trixie:demo")
_DEFAULT_WHEELS = ("bookworm", "trixie")


@dataclass
class Try:
    """What came of one root: seconds of each command, with set-up apart, and which command failed."""

    suite: str
    seconds: dict[str, float] = field(default_factory=dict)
    failed: str | None = None


def main() -> int:
    """Try each root; 0 when every command passed on each."""
    parser = argparse.ArgumentParser(prog="fresh_machine", description=__doc__.partition("\n")[0])
    parser.add_argument("tries", nargs="*", metavar="SUITE[:WORD,...]",
                        help="for example: trixie:demo (default: bookworm trixie:demo)")  # fmt: skip
    parser.add_argument(
        "--wheels", type=Path, metavar="FOLDER", help="install the wheels of this folder, without a compiler"
    )
    parser.add_argument(
        "--folder", type=Path, help="where the roots are laid out (default: the temporary folder)"
    )
    parser.add_argument(
        "--keep", action="store_true", help="leave the written root of a failed try in its folder"
    )
    options = parser.parse_args()
    readme = (ROOT / "README.md").read_text()
    if options.wheels is None:
        commands = readme_commands(readme)
        chosen = [parse_try(text, commands) for text in options.tries or _DEFAULT]
    else:
        commands = [*wheel_commands(readme), *ways.BESIDES]
        chosen = [(suite, commands) for suite in options.tries or _DEFAULT_WHEELS]
    if os.geteuid() != 0:
        print(
            "A bare root needs root rights (mounts, chroot): run `sudo make fresh-machine`.", file=sys.stderr
        )
        return 1
    if _INSIDE not in os.environ:
        return _again_in_own_namespaces()
    way = ways.source(ROOT) if options.wheels is None else ways.wheels(options.wheels)
    carried = Path(tempfile.mkdtemp(prefix="fresh-carried-", dir=options.folder))
    try:
        done = [
            _try(suite, words, way, carried, folder=options.folder, keep=options.keep)
            for suite, words in chosen
        ]
    finally:
        shutil.rmtree(carried, ignore_errors=True)
    print("\nA fresh machine, in seconds:")
    for result in done:
        parts = ", ".join(f"{name} {seconds:.0f}" for name, seconds in result.seconds.items())
        print(f"  {result.suite}: {parts}; {'failed: ' + result.failed if result.failed else 'all passed'}")
    return int(any(result.failed for result in done))


def readme_commands(text: str) -> list[str]:
    """The make commands of README's first shell block that has any: what a new user types."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S):
        commands = [line.partition("#")[0].strip() for line in block.splitlines() if line.startswith("make ")]
        if commands:
            return commands
    raise SystemExit("README.md has no shell block with a make command: what should a fresh machine run?")


def wheel_commands(text: str) -> list[str]:
    """The lines of README's first shell block that installs wheels."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S):
        commands = [line.partition("#")[0].strip() for line in block.splitlines()]
        if any(" install " in command and ".whl" in command for command in commands):
            return [command for command in commands if command]
    raise SystemExit("README.md has no shell block that installs wheels: what should a fresh machine run?")


def parse_try(text: str, commands: list[str]) -> tuple[str, list[str]]:
    """`trixie:demo` is Debian 13 with `make demo`; `trixie` all commands.

    SystemExit when README has no such command.
    """
    suite, _, words = text.partition(":")
    if not words:
        return suite, commands
    wanted = [f"make {word}" for word in words.split(",")]
    for command in wanted:
        if command not in commands:
            raise SystemExit(
                f"README does not tell a new user to type `{command}`; it has {', '.join(commands)}."
            )
    return suite, wanted


def _again_in_own_namespaces() -> int:
    """This program again, where its mounts and processes end with it."""
    packages = subprocess.run([ROOT / "scripts/system-packages.sh", "debootstrap", "util-linux"], check=False)
    if packages.returncode != 0:
        return 1
    own = [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]
    tried = subprocess.run([*own, "true"], check=False, capture_output=True, text=True)
    if tried.returncode != 0:
        print(
            f"No bare root can be made: this machine refuses a mount namespace ({tried.stderr.strip()}).",
            file=sys.stderr,
        )
        return 1
    command = [*own, sys.executable, "-m", "scripts.fresh_machine", *sys.argv[1:]]
    return subprocess.run(command, check=False, cwd=ROOT, env={**os.environ, _INSIDE: "1"}).returncode


def _try(suite: str, commands: list[str], way: Way, carried: Path, *, folder: Path | None, keep: bool) -> Try:
    """`carried` holds what earlier roots compiled; what this one compiled is put there."""
    result = Try(suite)
    logs = ROOT / "build/fresh-machine"
    logs.mkdir(parents=True, exist_ok=True)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gauntlet-fresh-machine"
    scratch = Path(tempfile.mkdtemp(prefix=f"fresh-{suite}-", dir=folder))
    with (logs / f"{suite}{way.log}.log").open("w") as log:
        started = time.monotonic()

        def tell(text: str) -> None:
            print(text, flush=True)
            print(f"{time.monotonic() - started:7.1f}  {text}", file=log, flush=True)

        tell(f"=== {suite}: a bare root")
        lower = root.base(suite, cache, way.asked_for)
        with root.laid_out(lower, scratch, suite, way.toolchain) as place:
            way.prepare(place, carried)
            result.seconds["bare root"] = time.monotonic() - started
            for command in commands:
                tell(f"=== {suite}: {command}")
                if not _run(place, way, command, result, tell):
                    result.failed = command
                    break
            if not result.failed:
                way.carry(place, carried)
    if keep and result.failed:
        print(f"What was written is kept in {scratch / 'upper'}")
    else:
        shutil.rmtree(scratch, ignore_errors=True)
    return result


def _run(place: Path, way: Way, command: str, result: Try, tell: Callable[[str], None]) -> bool:
    """One command in the root, its lines told as they come; True when it passed."""
    environment = {
        "PATH": "/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": way.home,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "CI": "true",
        "CARGO_INCREMENTAL": "0",  # nothing is built a second time, and it would be gigabytes
        **registries.environment(),
    }
    name = command.removeprefix("make ")
    started = time.monotonic()
    process = subprocess.Popen(
        ["chroot", *way.as_user, str(place), "/bin/sh", "-c", f"cd {way.folder} && exec {command}"],
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace",
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == SET_UP and f"set-up for {name}" not in result.seconds:
            result.seconds[f"set-up for {name}"] = time.monotonic() - started
            started = time.monotonic()
        tell(line.rstrip())
    passed = process.wait() == 0
    result.seconds[name] = time.monotonic() - started
    if not passed:
        tell(f"=== {command} failed (exit {process.returncode})")
    return passed


if __name__ == "__main__":
    sys.exit(main())
