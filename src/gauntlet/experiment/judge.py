"""`judge` of a flow: what is asked of it, and the bound that it has to keep."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Self

from pydantic import Field, ValidationInfo, WithJsonSchema, model_validator

from gauntlet import units
from gauntlet.errors import UserError
from gauntlet.experiment.strict import Strict

_READ: tuple[tuple[str, Callable[[object, str], float]], ...] = (
    ("_s", units.time_s),
    ("_bps", units.rate_bps),
    ("_ratio", units.fraction),
    ("_utilisation", units.fraction),
)
"""How a bound is written, by the end of the KPI's name, which is its unit; without any it is a number."""

_BOUNDS = ("at_most", "at_least")

Bound = Annotated[
    float,
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}], "examples": ["1s", "2Mbit/s", "1%"]}),
]
"""In the file a quantity in the KPI's unit, here in base units."""


class Judge(Strict):
    """What is asked of a flow."""

    kpi: str = Field(min_length=1)
    """A KPI, or a delay of which `quantile` is asked."""
    quantile: float | None = Field(default=None, gt=0, le=1)
    """Of the delays of all messages that were due, those among them that never came; 1: of the slowest."""
    at_most: Bound | None = None
    """The largest value that keeps it, with its unit."""
    at_least: Bound | None = None
    """The smallest value that keeps it, with its unit."""

    @model_validator(mode="before")
    @classmethod
    def _in_base_units(cls, given: Any, info: ValidationInfo) -> Any:
        if not isinstance(given, dict) or not isinstance(given.get("kpi"), str):
            return given
        answered(given, info)
        level = given.get("quantile")
        if isinstance(level, int | float) and 1 < level < 100:
            raise ValueError(f"quantile: {level:g} is no share of the messages; write {level / 100:g}.")
        try:
            read = {key: _bound(given["kpi"], key, given[key]) for key in _BOUNDS if key in given}
        except UserError as error:
            raise ValueError(str(error)) from None
        return {**given, **read}

    @model_validator(mode="after")
    def _one_bound(self) -> Self:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError("there must be one bound; give either at_most or at_least.")
        return self

    def to_json(self) -> dict[str, Any]:
        """What a run's specification keeps of it, in base units."""
        return self.model_dump(exclude_none=True)


def answered(judge: Mapping[str, Any], info: ValidationInfo) -> None:
    """Raises ValueError where no flow can answer a `judge`, as far as the context of its check knows KPIs. A
    wrong name is told before a bound, whose unit hangs on it.
    """
    if info.context is None or info.context.answers is None:
        return
    try:
        info.context.answers(judge)
    except UserError as error:
        raise ValueError(str(error)) from None


def _bound(kpi: str, key: str, written: object) -> float:
    read = next((read for end, read in _READ if kpi.endswith(end)), None)
    if read is not None:
        return read(written, key)
    if isinstance(written, bool) or not isinstance(written, int | float):
        raise UserError(
            f"{key}: {written!r} is not a number, and a KPI called '{kpi}' has no unit. Those in _s have a "
            "time, in _bps a rate, in _ratio and _utilisation a share: message_delay_s, delay_s, "
            "throughput_bps, message_loss_ratio, capacity_utilisation."
        )
    return float(written)
