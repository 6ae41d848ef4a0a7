"""A program on a terminal while a run is played in real time: what is typed reaches it, what it prints shows.

The program has a terminal of its own, whose other end is here; the one that Gauntlet was called from hands on
every key meanwhile. Where that is none (a file, a pipe), what is read is typed, and behind it an end of file.
"""

import contextlib
import fcntl
import os
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from pathlib import Path

_EOF = b"\x04"
_PIECE_BYTES = 65_536
_STDIN, _STDOUT = 0, 1


@contextlib.contextmanager
def terminal() -> Iterator[Path]:
    """The place of a terminal, connected with standard input and output until the end."""
    ours, theirs = os.openpty()
    is_terminal = os.isatty(_STDIN)
    kept = termios.tcgetattr(_STDIN) if is_terminal else None
    with contextlib.suppress(OSError):
        # As many lines and columns as there are here.
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, fcntl.ioctl(_STDOUT, termios.TIOCGWINSZ, bytes(8)))
    if not is_terminal:
        _without_echo(theirs)
    shown = threading.Thread(target=_show, args=(ours,), daemon=True)
    typed = threading.Thread(target=_type, args=(ours,), daemon=True)
    try:
        if is_terminal:
            tty.setraw(_STDIN)
        shown.start()
        typed.start()
        yield Path(os.ttyname(theirs))
    finally:
        os.close(theirs)
        # What was printed last is still to be shown; then there is nobody left at the other end.
        shown.join(timeout=2.0)
        if kept is not None:
            termios.tcsetattr(_STDIN, termios.TCSADRAIN, kept)


def _without_echo(terminal_end: int) -> None:
    """What is typed by nobody is not to be shown."""
    settings = termios.tcgetattr(terminal_end)
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(terminal_end, termios.TCSANOW, settings)


def _show(ours: int) -> None:
    with contextlib.suppress(OSError):
        while piece := os.read(ours, _PIECE_BYTES):
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()


def _type(ours: int) -> None:
    with contextlib.suppress(OSError):
        while piece := os.read(_STDIN, _PIECE_BYTES):
            os.write(ours, piece)
        os.write(ours, _EOF)
