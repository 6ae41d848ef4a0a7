"""Colours and settings of scenario figures, light and dark.

Hues are those of Okabe and Ito, which colour-blind readers can tell apart.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Style:
    """Colours of one theme."""

    paper: str
    ink: str
    faint: str
    grid: str
    capacity: str
    shared: str
    up: str
    down: str
    speed: str
    reference: str
    outbound: str
    inbound: str
    urban: str
    suburban: str
    rural: str
    cell_band: str

    def area(self, area_type: str) -> str:
        """Colour of an area type."""
        return {"urban": self.urban, "suburban": self.suburban, "rural": self.rural}[area_type]

    def rc(self) -> dict[str, Any]:
        """Matplotlib settings; text stays text in SVG, and names of its parts do not vary from run to run."""
        return {
            "figure.facecolor": self.paper,
            "axes.facecolor": self.paper,
            "savefig.facecolor": self.paper,
            "text.color": self.ink,
            "axes.labelcolor": self.ink,
            "axes.edgecolor": self.faint,
            "axes.grid": True,
            "axes.grid.axis": "y",
            "axes.axisbelow": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.linewidth": 0.8,
            "grid.color": self.grid,
            "grid.linewidth": 0.6,
            "xtick.color": self.faint,
            "ytick.color": self.faint,
            "xtick.labelcolor": self.ink,
            "ytick.labelcolor": self.ink,
            "font.family": "sans-serif",
            "font.sans-serif": ["DejaVu Sans"],
            "font.size": 9,
            "axes.labelsize": 9,
            "xtick.labelsize": 8.5,
            "ytick.labelsize": 8.5,
            "svg.fonttype": "none",
            "svg.hashsalt": "gauntlet",
        }


LIGHT = Style(
    paper="#ffffff",
    ink="#1f2933",
    faint="#8a94a0",
    grid="#e4e8ec",
    capacity="#0072b2",
    shared="#e69f00",
    up="#0072b2",
    down="#d55e00",
    speed="#009e73",
    reference="#1f2933",
    outbound="#0072b2",
    inbound="#d55e00",
    urban="#5b6b7b",
    suburban="#a9b7c4",
    rural="#dde5da",
    cell_band="#f1f4f7",
)

DARK = Style(
    paper="#14181d",
    ink="#e6eaee",
    faint="#7d8894",
    grid="#2a3138",
    capacity="#56b4e9",
    shared="#e69f00",
    up="#56b4e9",
    down="#ff8a4c",
    speed="#2fc79a",
    reference="#ffffff",
    outbound="#56b4e9",
    inbound="#ff8a4c",
    urban="#9aa9b8",
    suburban="#566472",
    rural="#2f3d36",
    cell_band="#1b2127",
)
