"""Programs of Gauntlet's own crates that measure: built from source, and where they are found."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from gauntlet.errors import UserError

PROFILE = "measure"
"""The build's profile: AWS-LC is compiled as it is used, which the others spare themselves."""


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
        crates = " ".join(f"-p {crate}" for crate in self.crates)
        raise UserError(
            f"The program {name} is needed and {where}: in a working copy, "
            f"`cargo build --profile {PROFILE} {crates}` builds it."
        )
