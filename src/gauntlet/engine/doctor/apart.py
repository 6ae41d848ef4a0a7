"""Try something in a process of its own, so that whatever it breaks, or whatever ends it, ends there."""

import contextlib
import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from gauntlet.engine.ended import ended

Result = TypeVar("Result")


@dataclass(frozen=True)
class Tried(Generic[Result]):
    """What an attempt returned, or how its process ended without returning."""

    result: Result | None
    ended: str = ""


def apart(attempt: Callable[[], Result]) -> Tried[Result]:
    """Call `attempt` in a forked process; what it returns comes back pickled.

    An OSError that it raises is how it ended: its sentence.
    """
    ours, theirs = os.pipe()
    try:
        pid = os.fork()
    except OSError as error:
        os.close(ours)
        os.close(theirs)
        return Tried(None, f"fork: {error.strerror}")
    if pid == 0:
        os.close(ours)
        _answer(attempt, theirs)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        answer = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if not answer:
        return Tried(None, ended(code))
    tried: Tried[Result] = pickle.loads(answer)
    return tried


def _answer(attempt: Callable[[], Result], pipe: int) -> None:
    """The child's part; it never returns."""
    code = 1
    with contextlib.suppress(BaseException):
        try:
            tried = Tried(attempt())
        except OSError as error:
            tried = Tried(None, error.strerror or str(error))
        except Exception as error:  # a defect of ours must be seen by the parent
            tried = Tried(None, repr(error))
        with os.fdopen(pipe, "wb") as answer:
            pickle.dump(tried, answer)
        code = 0
    os._exit(code)
