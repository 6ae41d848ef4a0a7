"""The shape of what a pack says, checked where it is read: whoever made it may have made it otherwise."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gauntlet.errors import RunError
from gauntlet.experiment.strict import Location, sentence
from gauntlet.results import layout, parquet
from gauntlet.results.files import json_bytes
from gauntlet.results.reader import Run

Count = Annotated[int, Field(ge=0)]
Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$")]


class _Shape(BaseModel):
    """Keys that are read; others may stand beside them, and what is derived anew tells of them."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)


class LeftOut(_Shape):
    """A file of runs that is not in the pack."""

    file: str
    files: Count
    bytes: Count
    why: str


class About(_Shape):
    """What a pack's manifest says of an experiment, as far as its results do not."""

    left_out: list[LeftOut]


class MadeWith(_Shape):
    """What made a pack."""

    gauntlet: str
    code: str


class Manifest(_Shape):
    """The manifest of a pack."""

    format: Literal["gauntlet-evidence"]
    version: Literal[1]
    made_with: MadeWith
    claims: Count
    experiments: dict[Word, About]


class _Node(_Shape):
    node: str
    rules: list[dict[str, Any]]


class _Rule(_Shape):
    matched_packets: Count
    unfit_packets: Count


class _DoneBy(_Shape):
    node: str
    rules: list[_Rule]


class _Guest(_Shape):
    gauntlet: str = ""
    libraries: dict[str, str] = Field(default_factory=dict)


class _Failed(_Shape):
    run: str
    outcome: str


class _Record(_Failed):
    seed: int
    guest: _Guest
    in_path: list[_DoneBy] = Field(default_factory=list)


class _Certificate(_Shape):
    run: str
    trusted: bool
    verdict: Literal["confirmed", "contradicted", "not checked"]
    undecided: list[str]

    @model_validator(mode="after")
    def _one_answer(self) -> Self:
        if self.trusted != (self.verdict == "confirmed"):
            raise ValueError(f"a run that is {self.verdict} says trusted = {self.trusted}.")
        return self


class _Ride(_Shape):
    threat: str = "none"


class _Flow(_Shape):
    app: str


class _Spec(_Shape):
    id: str
    seed: int
    factors: dict[str, Any]
    labels: dict[str, str]
    link: _Ride
    flows: list[_Flow]


class _PlannedFlow(_Shape):
    id: str
    stack: str
    stack_params: dict[str, Any]
    app_params: dict[str, Any]


class _Plan(_Shape):
    id: str
    seed: int
    flows: list[_PlannedFlow]
    in_path: list[_Node] = Field(default_factory=list)


@dataclass(frozen=True)
class _Column:
    """A column that verdicts are made of."""

    fits: Callable[[pa.DataType], bool]
    everywhere: bool = True
    """Whether every row has it."""


_INTEGER, _TEXT = _Column(pa.types.is_integer), _Column(pa.types.is_string)
_INTEGER_OR_NONE = _Column(pa.types.is_integer, everywhere=False)
_TABLES: Mapping[str, Mapping[str, _Column]] = {
    layout.MESSAGES: {"flow": _INTEGER, "seq": _INTEGER, "sent_ns": _INTEGER},
    layout.SAFETY: {
        "flow": _INTEGER,
        "event": _TEXT,
        "t_ns": _INTEGER,
        "verdict": _TEXT,
        "number": _INTEGER_OR_NONE,
        "stamp_ns": _INTEGER_OR_NONE,
        "genuine": _Column(pa.types.is_boolean, everywhere=False),
    },
    layout.IN_PATH: {
        "node": _INTEGER,
        "t_ns": _INTEGER,
        "event": _TEXT,
        "rule": _INTEGER_OR_NONE,
    },
}


def plain(value: Any) -> Any:
    """Data as they are read from a file that they were written to."""
    return json.loads(json_bytes(value))


def checked(shape: type[_Shape], value: Any, what: str) -> None:
    """Raise RunError, one sentence, where a value has not the shape that is read."""
    try:
        shape.model_validate(value)
    except ValidationError as error:
        raise RunError(f"{what} is not of the form that is read: {sentence(error, _path)}") from None


def _path(location: Location) -> str:
    return ".".join(map(str, location))


def check_run(run: Run) -> None:
    """Check the shapes of a run's files. Raises RunError."""

    def said(name: str) -> str:
        return f"{name} of run {run.id}"

    checked(_Spec, run.spec, said(layout.SPEC))
    checked(_Plan, run.plan, said(layout.PLAN))
    checked(_Failed, run.record, said(layout.RECORD))
    if len(run.spec["flows"]) != len(run.plan["flows"]):
        raise RunError(f"Specification and plan of run {run.id} have not the same flows.")
    if not run.ok:
        return
    checked(_Record, run.record, said(layout.RECORD))
    checked(_Certificate, run.certificate, said(layout.CERTIFICATE))
    for name, columns in _TABLES.items():
        if (run.folder / name).exists():
            _check_table(parquet.read(run.folder / name, said(name)), columns, said(name))


def _check_table(table: pa.Table, columns: Mapping[str, _Column], what: str) -> None:
    for name, column in columns.items():
        if name not in table.column_names or not column.fits(table.schema.field(name).type):
            raise RunError(f"{what} has no column {name} of the form that is read.")
        if column.everywhere and table.column(name).null_count:
            raise RunError(f"{what} has rows without {name}.")
