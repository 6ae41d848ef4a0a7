"""Nguyen's dissertation on ResTP (2021) done again: the real ResTP beside the TCP, MPTCP and UDP of Linux."""

from gauntlet.studies.restp.study import STUDY

__all__ = ["STUDY"]
