"""AB4Rail D3.4 done again: TCP CUBIC, TCP BBR, UDP and SCTP on three Italian railway lines."""

from gauntlet.studies.d34.study import STUDY

__all__ = ["STUDY"]
