"""AB4Rail D3.5 done again: secure transports, web pages, files and short messages on the high-speed line."""

from gauntlet.studies.d35.study import STUDY

__all__ = ["STUDY"]
