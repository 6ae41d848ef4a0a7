"""A fitted link as a file (docs/formats/link-model.md): a model of each quantity, drawn with a seed."""

import math
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
import tomli_w
from pydantic import Field, model_validator

from gauntlet.errors import UserError
from gauntlet.scenario.fitted.autoregressive import Autoregressive
from gauntlet.scenario.fitted.gilbert_elliott import GilbertElliott, bad_states
from gauntlet.scenario.fitted.markov import Markov
from gauntlet.scenario.fitted.series import Constant, Flags, Floats, Proportional
from gauntlet.scenario.linefile import StrictData, read_toml
from gauntlet.scenario.model import generator
from gauntlet.scenario.trace import LEAST_RATE_BPS, Trace

KIND = "fitted"
"""What the key `kind` of such a file says."""
QUANTITIES = ("rate_down", "rate_up", "delay_down", "delay_up", "loss_down", "loss_up")

Series = Annotated[
    Constant | Proportional | Markov | Autoregressive | GilbertElliott, Field(discriminator="model")
]
"""A model of one quantity, in bit/s, seconds or as a fraction."""


class Calibration(StrictData):
    """What the models were calibrated to."""

    source: str
    sha256: str | None = None
    """Of the file, where it is one."""
    duration_s: float = Field(gt=0)
    far: dict[str, float] | None = None
    """Quantities whose distribution is far from the measured one, with the distance of the two."""


class Outages(StrictData):
    """A chain of two states, seen in the trace: at each step the chance that an outage begins (`p`), and that
    it ends (`r`). Nothing passes in either direction.
    """

    p: float = Field(ge=0, le=1)
    r: float = Field(gt=0, le=1)


class LinkModel(StrictData):
    """The whole file."""

    kind: Literal["fitted"] = "fitted"
    step_s: float = Field(gt=0)
    queue_limit_bytes: int = Field(gt=0)
    calibrated: Calibration
    outages: Outages
    rate_down: Series
    rate_up: Series
    delay_down: Series
    delay_up: Series
    loss_down: Series
    loss_up: Series

    @model_validator(mode="after")
    def _known(self) -> Self:
        for name in QUANTITIES:
            model = getattr(self, name)
            if not isinstance(model, Proportional):
                continue
            if model.of not in QUANTITIES or isinstance(getattr(self, model.of), Proportional):
                raise ValueError(f"{name} is proportional to '{model.of}', which has no model of its own")
        return self

    def draw(self, count: int, seed: int) -> tuple[dict[str, Floats], Flags]:
        """Every quantity at each of so many steps, and which of the steps are in an outage."""
        drawn: dict[str, Floats] = {}
        for name in QUANTITIES:
            model = getattr(self, name)
            if not isinstance(model, Proportional):
                drawn[name] = model.draw(count, generator(seed, f"fitted/{name}"))
        for name in QUANTITIES:
            model = getattr(self, name)
            if isinstance(model, Proportional):
                drawn[name] = model.ratio * drawn[model.of]
        rng = generator(seed, "fitted/outages")
        return drawn, bad_states(self.outages.p, self.outages.r, count, rng)

    def trace(self, duration_s: float, seed: int, name: str) -> Trace:
        """A link drawn with this seed. Raises `UserError` for models whose values cannot be."""
        drawn, out = self.draw(math.ceil(duration_s / self.step_s - 1e-9), seed)
        columns: dict[str, Floats] = {}
        for side in ("up", "down"):
            rate_bps = np.maximum(np.round(drawn[f"rate_{side}"]), LEAST_RATE_BPS)
            columns[f"rate_{side}_bps"] = rate_bps
            columns[f"delay_{side}_s"] = np.maximum(np.round(drawn[f"delay_{side}"], 9), 0.0)
            columns[f"loss_{side}"] = np.where(out, 1.0, np.round(drawn[f"loss_{side}"], 9))
        table = np.column_stack(list(columns.values()))
        first = np.flatnonzero(np.append(True, np.any(np.diff(table, axis=0) != 0, axis=1)))
        rows = {key: values[first].tolist() for key, values in columns.items()}
        return Trace.from_columns(
            {
                "t_s": np.round(first * self.step_s, 6).tolist(),
                **rows,
                "queue_limit_bytes": [self.queue_limit_bytes] * len(first),
                "source": [f"fitted to {self.calibrated.source}"] * len(first),
            },
            duration_s,
            name,
        )


def read(path: Path) -> LinkModel:
    """Read a model. Raises `UserError` naming the key that is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read as a fitted link: {error}.") from None
    return read_toml(text, LinkModel, str(path))


def write(model: LinkModel, path: Path) -> None:
    """Write a model. Raises `UserError` for a place that cannot be written."""
    try:
        path.write_text(tomli_w.dumps(model.model_dump(mode="json", exclude_none=True)), encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"{path} cannot be written: {error.strerror or error}; choose another place."
        ) from None
