"""Clients and servers that carry flows as external stacks (docs/formats/external-stack.md).

Each module is a program for the guest: it is started there with the interpreter that runs gauntlet, so it
imports little, and nothing of gauntlet but `gauntlet.external`.
"""
