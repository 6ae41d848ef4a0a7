"""What is to be measured: the experiment file, its matrix of runs, and the plans that guests play.

>>> from pathlib import Path
>>> from gauntlet.experiment import expand, load_experiment, plan_run
>>> runs = expand(load_experiment(Path("experiments/hsr-cbr.toml")))
>>> first = plan_run(runs[0])
"""

from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import Experiment, load_experiment, parse_experiment
from gauntlet.experiment.plan_schema import Plan, check_plan, read_plan
from gauntlet.experiment.plans import plan_run
from gauntlet.experiment.protocols import PROTOCOLS, Protocol, protocol
from gauntlet.experiment.runspec import FlowSpec, LinkConditions, RunSpec, ScenarioRef
from gauntlet.experiment.timelines import ridden

__all__ = [
    "PROTOCOLS",
    "Experiment",
    "FlowSpec",
    "LinkConditions",
    "Plan",
    "Protocol",
    "RunSpec",
    "ScenarioRef",
    "check_plan",
    "expand",
    "load_experiment",
    "parse_experiment",
    "plan_run",
    "protocol",
    "read_plan",
    "ridden",
]
