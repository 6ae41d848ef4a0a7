"""A machine made of fakes: a folder that is all of a script's PATH, with obedient programs."""

import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Long enough that whoever stops reading early makes its writer die: a pipe holds 64 kB.
_APT_CACHE = """#!/bin/bash
[ "$1" = policy ] && [ -e "$FAKES/candidates/$2" ] || exit 0
word='Installationskandidat:'
if [ "${LC_ALL:-}" = C ]; then word='Candidate:'; fi
echo "$2:"; echo "  Installed: (none)"; echo "  $word $(<"$FAKES/candidates/$2")"
for ((line = 0; line < 5000; line++)); do echo "     $line http://archive.example/debian bookworm/main"; done
"""

_DPKG_QUERY = """#!/bin/bash
if [ -e "$FAKES/installed/${!#}" ]; then echo -n "$(<"$FAKES/installed/${!#}")"; else exit 1; fi
"""

# `updates` is a stack of what the next updates say when they fail; one file a failure.
_APT_GET = """#!/bin/bash
echo "${ROOT_RIGHTS:-$USER_ID} apt-get $*" >>"$FAKES/log"
if [[ " $* " == *' update '* ]]; then
    for failure in "$FAKES"/updates/*; do
        [ -e "$failure" ] || break
        echo "$(<"$failure")" >&2; rm "$failure"; exit 100
    done
elif [[ " $* " == *' install '* ]]; then
    if [ -e "$FAKES/install-fails" ]; then
        for ((line = 0; line < 5000; line++)); do echo "Unpacking package number $line ..."; done
        echo 'dpkg: error processing package flex (--configure):'
        echo 'E: Sub-process /usr/bin/dpkg returned an error code (1)' >&2
        exit 100
    fi
    echo 'Setting up packages ...'
    for word; do :; done
    [ "${DEBIAN_FRONTEND:-}" = noninteractive ] || { echo "it would ask questions" >&2; exit 1; }
fi
"""

_SUDO = """#!/bin/bash
if [ "$1" = -n ]; then [ -e "$FAKES/passwordless" ]; exit; fi
export ROOT_RIGHTS=0
exec "$@"
"""


@dataclass
class Machine:
    """Fakes that can be told what the machine is like, and what they were asked."""

    folder: Path
    user_id: int = 0
    programs: dict[str, str] = field(default_factory=dict)

    def program(self, name: str, text: str) -> None:
        """Put a program on the PATH."""
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def real(self, *names: str) -> None:
        """Put programs of this machine on the PATH."""
        for name in names:
            found = shutil.which(name)
            assert found is not None, name
            (self.folder / "bin" / name).symlink_to(found)

    def remove(self, name: str) -> None:
        """Take a program away."""
        (self.folder / "bin" / name).unlink()

    def installed(self, package: str, status: str = "install ok installed") -> None:
        """A package that dpkg knows."""
        (self.folder / "installed" / package).write_text(status)

    def candidate(self, package: str, version: str = "1.0-1") -> None:
        """A package that apt knows; with the version `(none)` it cannot be installed."""
        (self.folder / "candidates" / package).write_text(version)

    def updates_fail(self, *words: str) -> None:
        """What the next calls of `apt-get update` say as they fail."""
        for number, said in enumerate(words):
            (self.folder / "updates" / f"{number:03d}").write_text(said)

    def asked(self) -> list[str]:
        """What apt-get and sleep were asked, in order: `USER PROGRAM ARGUMENTS`."""
        log = self.folder / "log"
        return log.read_text().splitlines() if log.exists() else []

    def run(self, script: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a script where only the fakes can be found."""
        environment = {
            "PATH": str(self.folder / "bin"),
            "FAKES": str(self.folder),
            "USER_ID": str(self.user_id),
            "LANG": "de_DE.UTF-8",
            **variables,
        }
        return subprocess.run(
            [str(script), *words], env=environment, capture_output=True, text=True, check=False
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with apt and sudo, whose user is root, with nothing installed."""
    found = Machine(tmp_path)
    for name in ("bin", "installed", "candidates", "updates"):
        (tmp_path / name).mkdir()
    found.program("apt-cache", _APT_CACHE)
    found.program("dpkg-query", _DPKG_QUERY)
    found.program("apt-get", _APT_GET)
    found.program("sudo", _SUDO)
    found.program("id", '#!/bin/bash\necho "$USER_ID"\n')
    found.program("sleep", '#!/bin/bash\necho "$USER_ID sleep $*" >>"$FAKES/log"\n')
    found.real("bash", "env", "rm", "grep")
    return found


@pytest.fixture
def script() -> Path:
    """Where the project's scripts are."""
    return ROOT / "scripts"
