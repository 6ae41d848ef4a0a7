"""A user and network namespace of a run's own: nothing leads out of it, so addresses can be forged in it.

It has the loopback interface and a route by which answers to forged addresses come to nothing
(`gauntlet.attack.inside`). What the kernel does about SYN cookies is per network namespace, so nothing of the
machine itself is changed. It takes no root where users may have namespaces (user_namespaces(7)).
"""

import socket
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from gauntlet.attack import counters, inside
from gauntlet.attack.stage import Stage
from gauntlet.errors import UserError

OFF, WHEN_FULL, ALWAYS = "off", "when-full", "always"
COOKIES: Mapping[str, int] = MappingProxyType({OFF: 0, WHEN_FULL: 1, ALWAYS: 2})
"""When the kernel sends SYN cookies, and its word for it: net.ipv4.tcp_syncookies (ip-sysctl)."""

_MADE = ("unshare", "--user", "--map-root-user", "--net")
_ENTERED = ("nsenter", "--preserve-credentials", "--user", "--net")
_READY_S = 30.0


@dataclass(frozen=True)
class Namespace:
    """One that is there as long as its stage."""

    holder: int
    """The process that keeps it."""
    link: socket.socket
    """Tells of its sockets (`gauntlet.attack.sockets`)."""

    def command(self, words: Sequence[str]) -> list[str]:
        """A command as it is started inside: the same process, which has entered before."""
        return [*_ENTERED, "--target", str(self.holder), "--", *words]

    def counted(self) -> Mapping[str, int]:
        """What its kernel has counted of TCP beyond RFC 4022 (`TcpExt` of netstat), SYN cookies among it."""
        return counters.tcp_extensions(self.holder)


def make(stage: Stage, folder: Path, cookies: str, cores: Sequence[int] = ()) -> Namespace:
    """A namespace, kept by a process of the stage. `folder` is where the two meet; it has to be there.

    Raises UserError when this machine gives none.
    """
    path = folder / "namespace"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as meets:
        meets.bind(str(path))
        meets.listen(1)
        try:
            holder = stage.start("namespace", [*_MADE, *inside.command(COOKIES[cookies], path)], cores=cores)
        except FileNotFoundError:
            raise UserError(
                "unshare is not here, which makes network namespaces (Debian: util-linux)."
            ) from None
        stage.listen(lambda: holder.last("ready") is not None or not holder.running, _READY_S)
        if holder.last("ready") is None:
            why = holder.complaint() if not holder.running else "nothing came of it"
            raise UserError(
                "Forged addresses and SYN cookies take a network namespace of one's own, and this machine "
                f"gives none: {why}."
            )
        came, _ = meets.accept()
        with came:
            _, (found,), _, _ = socket.recv_fds(came, 1, 1)
    return Namespace(holder.process.pid, socket.socket(fileno=found))


def check() -> None:
    """Raise UserError when this machine gives no such namespace."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-attack-") as folder, Stage(Path(folder)) as stage:
        made = make(stage, Path(folder), OFF)
        made.link.close()
