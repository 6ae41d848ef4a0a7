"""`gauntlet scenario fit`: a model calibrated to a link, from which others like it are drawn."""

from pathlib import Path
from typing import Any, Literal

import click

from gauntlet.cli.scenario_options import load, which


@click.command("fit", short_help="Calibrate a generator to a scenario.")
@which
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--method",
    type=click.Choice(["markov", "autoregressive"]),
    default="markov",
    show_default=True,
    help="Of rate and delay. Losses are Gilbert's and Elliott's, outages a chain of two states.",
)
@click.option("--step", metavar="TIME", help="Of the model. [the usual time between two rows]")
@click.option(
    "--states",
    type=click.IntRange(2, 64),
    default=8,
    show_default=True,
    help="Classes of a Markov chain.",
)
@click.option("--order", type=click.IntRange(1, 64), help="Of an autoregression. [the best by AIC up to 8]")
@click.option("--bearer", help="Which bearer, where there are several.")
@click.option("--json", "json_", is_flag=True, help="Print the comparison as JSON.")
def fit(
    *,
    name: str,
    model: Path,
    params: tuple[str, ...],
    seed: int,
    method: Literal["markov", "autoregressive"],
    step: str | None,
    states: int,
    order: int | None,
    bearer: str | None,
    json_: bool,
) -> None:
    """Calibrate a model to the scenario NAME and write it to MODEL (.toml), which is a scenario too: each
    seed draws another link like the one that was measured.

    What the model's links are like is printed beside what was measured.

    \b
    Examples:
      gauntlet scenario fit own-link.csv own-model.toml
      gauntlet scenario fit own-link.csv own-model.toml --method autoregressive --order 2
    """
    from gauntlet import units
    from gauntlet.cli.output import console, print_json
    from gauntlet.cli.scenario_table import apart, comparison, far
    from gauntlet.errors import UserError
    from gauntlet.experiment import ScenarioRef, links
    from gauntlet.scenario.fitted import link_model
    from gauntlet.scenario.fitted.comparison import compare
    from gauntlet.scenario.fitted.fit import fit as calibrate
    from gauntlet.scenario.fitted.fit import samples

    if model.suffix != ".toml":
        raise UserError(f"{model} is no name of a model; it must end in .toml.")
    found = load(name, params, seed)
    trace = links.bearer(ScenarioRef(name, {}, bearer), found)
    fitted = calibrate(
        found,
        trace,
        method=method,
        step_s=units.time_s(step, "--step") if step else None,
        states=states,
        order=order,
    )
    compared: dict[str, Any] = compare(fitted, *samples(trace, fitted.step_s), seed)
    told = fitted.calibrated.model_copy(update={"far": compared["far"] or None})
    link_model.write(fitted.model_copy(update={"calibrated": told}), model)
    if json_:
        print_json({"model": str(model), **compared})
        return
    for table in comparison(compared):
        console().print(table)
    for said in filter(None, (apart(compared), far(compared))):
        console().print(said)
    click.echo(str(model))
