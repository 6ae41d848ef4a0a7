"""What a server is: what it speaks, what it has against attacks, and how it is started."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from gauntlet.attack.certificates import Chain
from gauntlet.attack.kinds import LONG_BYTES
from gauntlet.attack.loopback import Address

OFF, RETRY, LIMIT, COOKIES = "off", "retry", "limit", "cookies"
DEFENCES: Mapping[str, str] = MappingProxyType(
    {
        OFF: "none beyond its defaults",
        RETRY: "Retry, always (QUIC)",
        LIMIT: "a limit of handshakes in flight",
        COOKIES: "SYN cookies, which the kernel has for any server",
    }
)

TIGHT_S = 2
"""Its time-outs for what is slow, in a server that is asked to have tight ones."""

PAGE_BYTES = 1000
"""What `/` has, of every server here."""


def write_files(folder: Path) -> None:
    """Page and long answers of a server that serves files: the same as Gauntlet's own makes."""
    long = folder / "bytes"
    long.mkdir(parents=True)
    (folder / "index.html").write_bytes(b"." * PAGE_BYTES)
    for length in LONG_BYTES:
        (long / str(length)).write_bytes(b"." * length)


@dataclass(frozen=True)
class Wanted:
    """How a server is wanted."""

    protocol: str
    address: Address
    chain: Chain
    folder: Path
    """Empty; for its configuration and what it writes."""
    defence: str = OFF
    weakness: str = ""
    tight: bool = False
    """Whether handshakes, headers and bodies have to come within `TIGHT_S`."""
    more: tuple[str, ...] = ()
    """Further arguments, of Gauntlet's own server."""


@dataclass(frozen=True)
class Launch:
    """How it is started."""

    command: list[str]
    tells: bool
    """Whether it says by itself when it is ready, and counts; others are asked for their page until they
    answer.
    """
    inside: Path | None = None
    """Where it is started; None: in the folder of the run."""


@dataclass(frozen=True)
class Server:
    """One server."""

    key: str
    words: str
    protocols: tuple[str, ...]
    defences: Mapping[str, tuple[str, ...]]
    """Defence -> the protocols over which it has it."""
    ready: Callable[[], None]
    """Raises UserError when it is not here, with what would bring it."""
    version: Callable[[], str]
    launch: Callable[[Wanted], Launch]
    tightens: bool = True
    """Whether its time-outs are `TIGHT_S` where that is asked for."""
