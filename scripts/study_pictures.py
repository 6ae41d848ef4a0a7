"""Draws the pictures on the pages of the studies, docs/studies/*.md, from what is kept of their full runs.

Run it with `python scripts/study_pictures.py` after a summary has changed. Each picture is a panel of a
figure that `gauntlet reproduce STUDY --from-summary` shows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gauntlet.figures import save
from gauntlet.figures.kind import Chart
from gauntlet.studies import studies
from gauntlet.studies.summary import Summary

IMAGES = Path(__file__).parents[1] / "docs" / "images"

PADDING_PX = {"left": 5, "top": 5, "bottom": 5, "right": 40}
"""The room at the right is for a reader's font that is wider than the one a legend was measured with."""


@dataclass(frozen=True)
class Picture:
    """A panel of a study's figure."""

    study: str
    figure: str
    panel: int
    """Its place among those of the figure that are drawn, from 0: tables do not count."""

    @property
    def file(self) -> Path:
        """Where it is kept."""
        return IMAGES / f"{self.study}.svg"

    def spec(self) -> Mapping[str, Any]:
        """What is drawn."""
        study = studies()[self.study]
        (figure,) = (it for it in study.figures if it.key == self.figure)
        panels = [it for it in figure.draw(Summary.load(study.summary)) if isinstance(it, Chart)]
        return {**panels[self.panel].chart.to_dict(), "padding": PADDING_PX}


PICTURES = (
    Picture("d34", "24", 0),
    Picture("d35", "27", 0),
    Picture("restp", "4.2", 0),
    Picture("space", "4.2", 0),
    Picture("geography", "4.17", 1),
    Picture("attack", "1", 0),
)


def main() -> None:
    """Draw them all."""
    for picture in PICTURES:
        print(save.write(picture.spec(), picture.file))


if __name__ == "__main__":
    main()
