"""The command line: `gauntlet COMMAND`, one file a command. Only click is imported before a command runs."""

import sys
from typing import Any

import click

from gauntlet import __version__
from gauntlet.cli.advise import advise
from gauntlet.cli.assess import assess
from gauntlet.cli.attack import attack
from gauntlet.cli.cache import cache
from gauntlet.cli.compare import compare
from gauntlet.cli.completion import completion
from gauntlet.cli.demo import demo
from gauntlet.cli.doctor import doctor
from gauntlet.cli.evidence import evidence
from gauntlet.cli.exec import exec_
from gauntlet.cli.failure import report_failures
from gauntlet.cli.geography import geography
from gauntlet.cli.kernel import kernel
from gauntlet.cli.report import report
from gauntlet.cli.reproduce import reproduce
from gauntlet.cli.residual import residual
from gauntlet.cli.run import run
from gauntlet.cli.scenario import scenario
from gauntlet.cli.schema import schema
from gauntlet.cli.shell import shell
from gauntlet.cli.show import show
from gauntlet.cli.space import space
from gauntlet.cli.worker import worker


class _Gauntlet(click.Group):
    """The top command, whose failures are one sentence and an exit code."""

    def main(self, *args: Any, **extra: Any) -> Any:
        given = extra.get("args", args[0] if args else None)
        debug = (sys.argv[1:] if given is None else list(given))[:1] == ["--debug"]
        run = super().main
        report_failures(lambda: run(*args, **{**extra, "standalone_mode": False}), debug=debug)


@click.group(
    "gauntlet",
    cls=_Gauntlet,
    short_help="Put real transport stacks through hard links, and see which to use.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="gauntlet")
@click.option("--debug", is_flag=True, help="Show where an error comes from.")
def main(debug: bool) -> None:
    """Put real transport stacks through hard links, and see which to use.

    \b
    Examples:
      gauntlet doctor                           what this machine can do
      gauntlet demo                             five protocols on the Rome-Florence line
      gauntlet scenario show hsr                what a link is like
      gauntlet run experiments/hsr-cbr.toml     run an experiment, make its report
      gauntlet report results/hsr-cbr --open    look at results again
      gauntlet compare results/a results/b      before and after a change
      gauntlet show results/a/runs/RUN --tap train   its packets, for Wireshark
      gauntlet reproduce d34                    check a published study's claims
      gauntlet advise --class critical-data     which transport for a class of service

    Exit codes: 0 done, 1 something failed while it ran, 2 the request was wrong.
    """


for _command in (
    doctor, demo, run, report, compare, show, reproduce, advise, assess, evidence, residual, scenario, exec_,
    shell, geography, space, attack, schema, completion, kernel, cache, worker,
):  # fmt: skip
    main.add_command(_command)
