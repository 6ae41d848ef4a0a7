"""Stacks that programs carry (docs/formats/external-stack.md): those that ship, and an experiment's own."""

import compileall
import importlib.util
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import Field

from gauntlet import external as programs
from gauntlet.errors import UserError
from gauntlet.experiment.strict import Strict

STACK = "external"
"""The stack of the plan that such flows have."""
PYTHON = "{python}"
"""In a command: the interpreter that runs gauntlet, put in when the plan is made."""

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where a guest looks for programs, unless the experiment gives them another PATH (external-stack.md)."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


@dataclass(frozen=True)
class ExternalStack:
    """A client and a server command."""

    name: str
    client: tuple[str, ...]
    server: tuple[str, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Reach the programs as GAUNTLET_... variables, as an application's parameters do."""
    environment: Mapping[str, str] = field(default_factory=dict)
    working_directory: str = "/"

    def to_json(self, parameters: Mapping[str, Any], *, receiver_opens: bool) -> dict[str, Any]:
        """As `stack_params` of a flow, with further parameters and `PYTHON` not yet put in."""
        return {
            "name": self.name,
            "client": list(self.client),
            "server": list(self.server),
            "client_at": "to" if receiver_opens else "from",
            "parameters": {**self.parameters, **parameters},
            "environment": dict(self.environment),
            "working_directory": self.working_directory,
        }


_PYTHON_ENVIRONMENT = MappingProxyType(
    {
        # The same bytes in every run of a seed.
        "PYTHONHASHSEED": "0",
        # Memory that was used once stays (mallopt(3)): each page that is fetched anew costs a guest several
        # switches between processes of the host.
        "MALLOC_TRIM_THRESHOLD_": "1000000000",
        "MALLOC_MMAP_THRESHOLD_": "1000000000",
        "MALLOC_TOP_PAD_": "16777216",
    }
)


def _shipped(name: str, client: str, server: str) -> ExternalStack:
    # -B: the guest's root cannot be written. -P: the host's root folder has no modules.
    start = (PYTHON, "-B", "-P", "-m")
    return ExternalStack(
        name,
        (*start, f"gauntlet.external.{client}"),
        (*start, f"gauntlet.external.{server}"),
        environment=_PYTHON_ENVIRONMENT,
    )


AIOQUIC = _shipped("aioquic", "aioquic_client", "aioquic_server")
FTP = _shipped("ftp", "ftp_client", "ftp_server")
FTPS = _shipped("ftps", "ftps_client", "ftps_server")


@dataclass(frozen=True)
class Extra:
    """What only some of the programs that ship need; `pip install "gauntlet-net[NAME]"` gets them."""

    name: str
    packages: Mapping[str, str]
    """Name to import -> name on PyPI."""
    programs: frozenset[str]
    """The modules of `gauntlet.external` that import them."""

    def missing(self) -> list[str]:
        """Those of its packages that are not installed, by their names on PyPI."""
        return [name for module, name in self.packages.items() if importlib.util.find_spec(module) is None]


EXTRAS = (
    Extra("quic", {"aioquic": "aioquic"}, frozenset({"aioquic_client", "aioquic_server"})),
    Extra("ftp", {"pyftpdlib": "pyftpdlib"}, frozenset({"ftp_server", "ftps_server"})),
    Extra("ftp", {"OpenSSL": "pyOpenSSL"}, frozenset({"ftps_server"})),
)
"""As pyproject.toml has them."""


def check_extras(stacks: Iterable[Mapping[str, Any] | None], what: str) -> None:
    """See that what `stacks` (`stack_params` of flows; None: no programs) need is installed.

    `what` asks for them, in the words of a sentence. Raises UserError with the command that installs it.
    """
    words = {word for stack in stacks if stack for role in ("client", "server") for word in stack[role]}
    for extra in EXTRAS:
        asked = any(f"{programs.__name__}.{program}" in words for program in extra.programs)
        if asked and (missing := extra.missing()):
            raise UserError(
                f"{what} needs {' and '.join(missing)}, which is not installed; type "
                f'`pip install "gauntlet-net[{extra.name}]"`.'
            )


@cache
def _compile_shipped() -> None:
    """Compile the programs that ship: a guest cannot keep what it compiles, and would do it in every run.

    Where the package's folder cannot be written guests do so: that takes longer, and moves no instant.
    """
    compileall.compile_dir(str(Path(programs.__file__).parent), quiet=2)


def started(stack_params: Mapping[str, Any]) -> dict[str, Any]:
    """`stack_params` with `PYTHON` put in."""
    _compile_shipped()
    own = {
        role: [sys.executable if word == PYTHON else word for word in stack_params[role]]
        for role in ("client", "server")
    }
    return {**stack_params, **own}


NO_RDRAND = MappingProxyType({"OPENSSL_ia32cap": "~0x4000000000000000"})
"""Has BoringSSL, AWS-LC and OpenSSL believe that the processor has no RDRAND (bit 30 of ECX of CPUID's leaf
1, which is bit 62 of this vector), so that all their random numbers come from the kernel, and with it from
the seed. For stacks of the user's own: those that ship ask the kernel anyway."""


class StackSection(Strict):
    """[stack.NAME]: a stack of the user's own; NAME is then a protocol."""

    client: Annotated[list[str], Field(min_length=1)]
    server: Annotated[list[str], Field(min_length=1)]
    label: str | None = None
    """What reports call it; None: its name."""
    parameters: dict[str, str | int | float | bool] = Field(default_factory=dict)
    environment: dict[str, str] = Field(default_factory=dict)

    def stack(self, name: str, folder: Path) -> ExternalStack:
        """The stack that it describes; programs given by a relative path are looked for in `folder`.

        Raises UserError when the name cannot be that of a protocol or a program is not there.
        """
        if not _NAME.fullmatch(name):
            raise UserError(
                f"[stack.{name}]: the name is not usable; write small letters, digits, dots and dashes."
            )
        path = self.environment.get("PATH", PATH)
        return ExternalStack(
            name,
            _found(f"[stack.{name}] client", self.client, folder, path),
            _found(f"[stack.{name}] server", self.server, folder, path),
            self.parameters,
            {**NO_RDRAND, **self.environment},
            str(folder.resolve()),
        )


def _found(where: str, argv: list[str], folder: Path, path: str) -> tuple[str, ...]:
    program = argv[0]
    if program == PYTHON:
        return tuple(argv)
    if "/" in program:
        program = str((folder / program).resolve())
    # The guest sees this machine's files.
    if shutil.which(program, path=path) is None:
        raise UserError(
            f"{where}: there is no program '{argv[0]}' that can be executed; install it, or give its path as "
            "seen from the experiment file."
        )
    return (program, *argv[1:])
