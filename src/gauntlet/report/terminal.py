"""The answer in a terminal: a table of the main KPI with best and not-distinguishable marked, then the
sentences.
"""

from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gauntlet import report
from gauntlet.report.answer import sentences
from gauntlet.report.campaign import Campaign
from gauntlet.report.heat import HeatCell, heat_table
from gauntlet.report.trust import trust

MOST_COLUMNS = 9
"""With more conditions the table is turned: one row a condition, one column a protocol."""


def summary(results_folder: Path) -> RenderableType:
    """What `gauntlet run` and `gauntlet report` print at the end."""
    campaign = report.load(results_folder)
    found = trust(campaign)
    parts: list[RenderableType] = []
    if campaign.main_kpi is not None:
        parts.append(_table(campaign))
    parts += [
        Padding(Text.assemble((f"{it.question} ", "bold"), it.text), (1, 0, 0, 0))
        for it in sentences(campaign)
    ]
    good = found.trusted == found.planned
    parts.append(Padding(Text(found.verdict, style="green" if good else "bold red"), (1, 0, 0, 0)))
    parts += [Text(f"{run}: {' '.join(reasons)}", style="red") for run, reasons in found.untrusted]
    parts += [Text(f"{run}: {reason}", style="red") for run, reason in found.failed]
    parts += [Text(warning, style="yellow") for warning in found.warnings]
    return Group(*parts)


def _table(campaign: Campaign) -> Table:
    kpi = campaign.main_kpi
    assert kpi is not None
    heat = heat_table(campaign, kpi)
    unit = f" in {kpi.shown_unit}" if kpi.shown_unit else ""
    table = Table(title=f"{kpi.label}{unit}", title_justify="left", title_style="bold", header_style="bold")
    labels = [campaign.label(condition) for condition in campaign.conditions]
    if len(labels) <= MOST_COLUMNS:
        table.add_column("")
        for label in labels:
            table.add_column(label.replace(", ", "\n"), justify="right", no_wrap=True)
        for _, name, _, cells in heat.rows:
            table.add_row(name, *(_cell(cell) for cell in cells))
    else:
        table.add_column("")
        for _, name, _, _ in heat.rows:
            table.add_column(name, justify="right", no_wrap=True)
        for place, label in enumerate(labels):
            table.add_row(label, *(_cell(cells[place]) for _, _, _, cells in heat.rows))
    table.caption = "★ best   ≈ not distinguishable from the best   [ ] 95 % interval"
    table.caption_justify = "left"
    return table


def _cell(cell: HeatCell) -> Text:
    mark = {"best": " ★", "level": " ≈"}.get(cell.mark, "  ")
    text = Text(f"{cell.value}{mark}", style="bold" if cell.mark == "best" else "")
    if cell.interval:
        text.append(f"\n[{cell.interval}]", style="dim")
    if not cell.trusted:
        text.stylize("red strike")
    if cell.flag:
        text.append(f"\n{cell.flag}", style="red")
    return text
