"""Advice for a terminal: a sentence a class of service, and what settings change."""

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gauntlet.advice import words
from gauntlet.advice.settings import overview, sentences
from gauntlet.advice.shown import MOST
from gauntlet.advice.use import Advice


def uses(advice: Advice) -> RenderableType | None:
    """What to use for each class, and what settings change; None when there is nothing to say of either."""
    if not advice.classes and not advice.settings and not advice.silent:
        return None
    shown = Table.grid(padding=(0, 2, 0, 0))
    shown.add_column(style="bold", max_width=22)
    shown.add_column()
    for grid in advice.classes:
        shown.add_row(Text(grid.service.name), Text(words.answer(grid)))
    for sentence in advice.silent:
        shown.add_row(Text("No advice"), Text(sentence))
    for title, those in sentences(advice.settings):
        said = overview(those) if len(those) > MOST else [f"{it.whose}: {it.words}." for it in those]
        shown.add_row(Text("Setting"), Text.assemble((f"{title}.\n", "bold"), "\n".join(said)))
    return Group(Text("What should I use?", style="bold"), Padding(shown, (0, 0, 1, 0)))
