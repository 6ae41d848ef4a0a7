"""How this machine reaches its package registries, handed to a bare root, and nothing else of this machine.

Taken along: package indexes, proxies, apt's sources and keys, certificates, name resolution. Left behind:
whatever could stand in for a registry (find-links, wheels, caches, constraints): that is what hides a missing
step.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROXY_VARIABLES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")
CERTIFICATE_VARIABLES = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
)

# pip's names of what says where its index is and how to reach it; `find-links` and the like are not here.
PIP_SETTINGS = (
    "index-url", "extra-index-url", "proxy", "cert", "client-cert", "trusted-host",
    "timeout", "default-timeout", "retries",
)  # fmt: skip

# Tables of cargo's configuration that say the same for crates; `[build]`, `[target]` and others stay behind.
CARGO_TABLES = ("source", "registries", "registry", "http", "net", "credential-alias")
CARGO_VARIABLES = ("CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTRIES_", "CARGO_REGISTRY_", "CARGO_SOURCE_")

# Settings below apt's `Acquire` that do not say how a registry is reached.
_APT_LEFT_BEHIND = re.compile(
    r"Acquire::(IndexTargets|Languages|CompressionTypes|GzipIndexes|cdrom|Changelogs|AllowInsecure|AllowWeak)"
)


def environment() -> dict[str, str]:
    """Variables of this process that say how registries are reached: proxies, certificates, cargo's own."""
    kept = {}
    for name, value in os.environ.items():
        wanted = (
            name.lower() in PROXY_VARIABLES
            or name in CERTIFICATE_VARIABLES
            or name.startswith(CARGO_VARIABLES)
        )
        if wanted and value:
            kept[name] = value
    return kept


def apt_mirror(suite: str) -> str:
    """Where this machine's apt finds the main archive of its own release: for debootstrap of `suite`."""
    own = _own_suite()
    for address, release, _components in _apt_targets():
        if release == own:
            return address
    raise SystemExit(
        f"apt's sources on this machine have no archive of its own release ({own}), so where {suite} is to "
        "be had is unknown: add Debian's main archive to /etc/apt/sources.list."
    )


def write_apt(root: Path, suite: str) -> None:
    """apt in `root` has this machine's sources, the suite's name exchanged; other vendors are left out."""
    own = _own_suite()
    lines = []
    for address, release, component in _apt_targets():
        name, _, pocket = release.partition("-")
        if name == own and pocket in ("", "updates", "security"):
            lines.append(f"deb {address} {suite}{'-' * bool(pocket)}{pocket} {component}\n")
    (root / "etc/apt/sources.list").write_text("".join(dict.fromkeys(lines)))
    dump = _output("apt-config", "dump", "Acquire")
    settings = [line for line in dump.splitlines() if line and not _APT_LEFT_BEHIND.match(line)]
    (root / "etc/apt/apt.conf.d/99registries").write_text("\n".join(settings) + "\n")
    for folder in ("etc/apt/trusted.gpg.d", "etc/apt/keyrings", "etc/apt/auth.conf.d"):
        for file in Path("/", folder).glob("*"):
            _take_along(root, file)
    _take_along(root, Path("/etc/apt/auth.conf"))


def write_pip(root: Path) -> None:
    """pip in `root` has this machine's index, proxy and certificates."""
    found = {}
    # Lines such as global.index-url='…' and :env:.index-url='…'; the environment comes last and wins.
    listed = _output(sys.executable, "-m", "pip", "config", "list", may_fail=True).splitlines()
    for line in sorted(listed, key=lambda text: text.startswith(":env:")):
        name, _, value = line.partition("=")
        setting = name.rpartition(".")[2]
        if setting in PIP_SETTINGS and name.startswith((":env:", "global.", "install.")):
            found["timeout" if setting == "default-timeout" else setting] = value.strip("'\"")
    for setting in ("cert", "client-cert"):
        if setting in found:
            _take_along(root, Path(found[setting]))
    text = "[global]\n" + "".join(f"{name} = {value}\n" for name, value in found.items())
    (root / "etc/pip.conf").write_text(text)


def write_cargo(root: Path) -> None:
    """cargo in `root` has this machine's registries, by a file above every folder: its home stays empty."""
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    for name in ("config.toml", "config"):
        if (home / name).is_file():
            tables = tomllib.loads((home / name).read_text())
            kept = {table: tables[table] for table in CARGO_TABLES if table in tables}
            (root / ".cargo").mkdir(exist_ok=True)
            (root / ".cargo/config.toml").write_text("".join(_toml(kept)))
            return


def write_network(root: Path) -> None:
    """Name resolution and certificates of `root` are this machine's."""
    for name in ("etc/resolv.conf", "etc/hosts"):
        shutil.copyfile(Path("/", name), root / name)
    for file in Path("/usr/local/share/ca-certificates").glob("**/*.crt"):
        _take_along(root, file)
    for name in CERTIFICATE_VARIABLES:
        if name in os.environ:
            _take_along(root, Path(os.environ[name]))
    _output("chroot", str(root), "update-ca-certificates")


def _own_suite() -> str:
    for line in Path("/etc/os-release").read_text().splitlines():
        name, _, value = line.partition("=")
        if name == "VERSION_CODENAME":
            return value.strip('"')
    raise SystemExit(
        "This machine's /etc/os-release names no release (VERSION_CODENAME): a Debian host is needed."
    )


def _apt_targets() -> list[tuple[str, str, str]]:
    """Address, release and component of each package list that apt of this machine reads."""
    answer = _output(
        "apt-get", "indextargets", "--format", "$(REPO_URI)|$(RELEASE)|$(COMPONENT)", "Created-By: Packages"
    )
    targets = []
    for line in answer.splitlines():
        address, release, component = line.split("|")
        targets.append((address, release, component))
    return targets


def _take_along(root: Path, file: Path) -> None:
    """The file at the same place in the root, unless the root has its own there."""
    there = root / file.relative_to("/")
    if file.is_file() and not there.exists():
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, there)
        there.chmod(0o644)


def _toml(tables: Mapping[str, Any], path: tuple[str, ...] = ()) -> list[str]:
    """Nested tables of strings, numbers, truth values and lists, which TOML writes as JSON does."""
    lines = ["[" + ".".join(json.dumps(part) for part in path) + "]\n"] if path else []
    lines += [
        f"{json.dumps(key)} = {json.dumps(value)}\n"
        for key, value in tables.items()
        if not isinstance(value, dict)
    ]
    for key, value in tables.items():
        if isinstance(value, dict):
            lines += _toml(value, (*path, key))
    return lines


def _output(*command: str, may_fail: bool = False) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0 and not may_fail:
        raise SystemExit(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
    return done.stdout
