"""Gauntlet: real transport stacks through hard links, with the real Linux kernel in virtual time."""

__version__ = "0.1.0"
