"""TOML files read strictly: what is wrong is one sentence with file and place."""

import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from gauntlet.errors import UserError
from gauntlet.experiment.strict import Location, Strict, sentence

Read = TypeVar("Read", bound=Strict)


def toml(path: Path, what: str) -> dict[str, Any]:
    """A file's content. Raises UserError when it is not there or is no TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such {what}; give the path of a TOML file.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: the {what} cannot be read ({error}).") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: not valid TOML: {error}.") from None


def checked(model: type[Read], given: Any, where: str) -> Read:
    """Given keys as a model. Raises UserError, which begins with `where`."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise UserError(f"{where}: {sentence(error, words)}") from None


def words(location: Location) -> str:
    """A place among keys for people: parts, number 2."""
    return ", ".join(f"number {part + 1}" if isinstance(part, int) else str(part) for part in location)
