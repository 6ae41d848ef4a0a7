"""Programs of Gauntlet's own crates that measure: built from source, and where they are found."""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from gauntlet.errors import UserError

PROFILE = "measure"
"""The build's profile: AWS-LC is compiled as it is used, which the others spare themselves."""


def changed_since(program: Path, of: str = "") -> Path | None:
    """A source that was changed after the program was built, by the list that its build left beside it
    (`NAME.d`), or by that `of` another program there; None where none was, or where there is no such list.
    """
    listed = program.with_name(f"{of or program.name}.d")
    if not listed.is_file():
        return None
    built_s = program.stat().st_mtime
    for line in listed.read_text(encoding="utf-8").splitlines():
        for name in re.split(r"(?<!\\) ", line.partition(": ")[2]):
            source = Path(name.replace("\\ ", " "))
            if name and source.is_file() and source.stat().st_mtime > built_s:
                return source
    return None


@dataclass(frozen=True)
class Built:
    """Programs that are built together."""

    variable: str
    """The environment's variable that names the folder that they are in."""
    crates: tuple[str, ...]

    def program(self, name: str) -> Path:
        """Path of a program: in the folder that the variable names, in the working copy's build, or on the
        PATH. Raises UserError with what builds it.
        """
        named = os.environ.get(self.variable)
        folder = Path(named) if named else Path(__file__).parents[3] / "target" / PROFILE
        built = folder / name
        if built.is_file():
            return built
        found = None if named else shutil.which(name)
        if found:
            return Path(found)
        where = (
            f"{self.variable} is {named}, where it is not" if named else "it is neither built nor on the PATH"
        )
        raise UserError(
            f"The program {name} is needed and {where}: in a working copy, `{self.command}` builds it."
        )

    @property
    def command(self) -> str:
        """What builds them."""
        return f"cargo build --profile {PROFILE} {' '.join(f'-p {crate}' for crate in self.crates)}"

    def check(self, name: str) -> None:
        """Raise UserError when a program is not there, or is older than a source that it is built from."""
        found = self.program(name)
        if source := changed_since(found):
            raise UserError(
                f"The program {found} is older than {source}, from which it is built: what it would measure "
                f"is not what the source says. `{self.command}` builds it anew."
            )
