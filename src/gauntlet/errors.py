"""Errors that a user can act on: each one plain sentence (what was wrong, where, what would be right)."""


class GauntletError(Exception):
    """Base of all errors shown to users as one sentence without a stack trace."""

    exit_code = 1


class UserError(GauntletError):
    """The request cannot be carried out as written (unknown name, bad unit, negative rate, ...)."""

    exit_code = 2


class RunError(GauntletError):
    """The request was right, but something failed meanwhile (no kernel, disk full, guest hung, ...)."""

    exit_code = 1


class NotMeasured(GauntletError):
    """What a claim or a figure needs is not among the results at hand; the sentence says what is missing.

    It is no mistake: a quick or an unfinished run has less than a full one. Claims become undecided, figures
    are left out, and both say so.
    """
