"""How a build of the wheels ends when something is not right: one sentence."""


class Refused(Exception):
    """What is wrong, and what would be right."""
