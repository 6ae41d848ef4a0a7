"""Why claims are not reproduced: causes.toml of a study's folder (docs/formats/study.md)."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, field_validator

from gauntlet.experiment.strict import Strict
from gauntlet.experiment.tomlfile import checked, toml

CAUSES = "causes.toml"
"""Name of the file in the study's folder."""


class _Cause(Strict):
    """[cause.ID]"""

    name: str = Field(min_length=1)
    words: str = Field(min_length=1)

    @field_validator("name", "words")
    @classmethod
    def _one_line(cls, text: str) -> str:
        return " ".join(text.split())


class _File(Strict):
    """The whole of causes.toml."""

    cause: dict[str, _Cause] = Field(min_length=1)


@dataclass(frozen=True)
class Cause:
    """What several disagreements with a study have in common."""

    id: str
    name: str
    """A few words, as a heading."""
    words: str
    """What it is, in a sentence or two."""


def load(home: Path) -> dict[str, Cause]:
    """The causes of a study's folder by id; none without the file. Raises UserError for what is wrong."""
    path = home / CAUSES
    if not path.exists():
        return {}
    file = checked(_File, toml(path, "file of causes"), str(path))
    return {name: Cause(name, it.name, it.words) for name, it in file.cause.items()}
