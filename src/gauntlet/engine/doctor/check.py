"""What a check of the doctor says."""

from dataclasses import dataclass

from gauntlet.errors import GauntletError


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    `detail` is what was found: when that is not right, the cause in one sentence, and `remedy` the mend in
    one. `required` says whether runs depend on it.
    """

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    required: bool = True


def broken(name: str, error: GauntletError) -> Check:
    """The check that an error answers: its sentence has the cause, a semicolon, and the mend."""
    cause, _, mend = str(error).partition("; ")
    return Check(name, False, f"{cause.rstrip('.')}.", mend[:1].upper() + mend[1:])


def count(guests: int) -> str:
    """So many guests, for people."""
    return "1 guest" if guests == 1 else f"{guests} guests"


def mib(size: int) -> str:
    """A number of bytes for people."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
