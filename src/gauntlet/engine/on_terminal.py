"""A program on a terminal while a run is played in real time: what is typed reaches it, what it prints shows.

The program has a terminal of its own, whose other end is here; the one that Gauntlet was called from hands on
every key and every change of its size meanwhile. Where that is none (a file, a pipe), what is read is typed,
and behind it ends of file, as many as are asked for.
"""

import contextlib
import os
import signal
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from pathlib import Path

_EOF = b"\x04"
_EOF_INTERVAL_S = 0.2
_PIECE_BYTES = 65_536
_STDIN, _STDOUT = 0, 1


@contextlib.contextmanager
def terminal() -> Iterator[Path]:
    """The place of a terminal, connected with standard input and output until the end."""
    ours, theirs = os.openpty()
    is_terminal = os.isatty(_STDIN)
    kept = termios.tcgetattr(_STDIN) if is_terminal else None
    over = threading.Event()
    _resize(ours)
    before = signal.signal(signal.SIGWINCH, lambda *_: _resize(ours))
    if not is_terminal:
        _without_echo(theirs)
    shown = threading.Thread(target=_show, args=(ours,), daemon=True)
    typed = threading.Thread(target=_type, args=(ours, over), daemon=True)
    try:
        if is_terminal:
            tty.setraw(_STDIN)
        shown.start()
        typed.start()
        yield Path(os.ttyname(theirs))
    finally:
        over.set()
        os.close(theirs)
        # What was printed last is still to be shown; then there is nobody left at the other end.
        shown.join(timeout=2.0)
        signal.signal(signal.SIGWINCH, before)
        if kept is not None:
            termios.tcsetattr(_STDIN, termios.TCSADRAIN, kept)


def _resize(ours: int) -> None:
    """As many lines and columns as there are here; the kernel tells the program in front."""
    here = next(filter(os.isatty, (_STDIN, _STDOUT)), None)
    if here is not None:
        termios.tcsetwinsize(ours, termios.tcgetwinsize(here))


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


def _type(ours: int, over: threading.Event) -> None:
    with contextlib.suppress(OSError):
        last = b""
        while piece := os.read(_STDIN, _PIECE_BYTES):
            os.write(ours, piece)
            last = piece
        if last and not last.endswith((b"\n", b"\r")):
            os.write(ours, b"\n")
        # An end of file ends one reader: what runs in a shell has its own, and the shell needs one after it.
        os.write(ours, _EOF)
        while not over.wait(_EOF_INTERVAL_S):
            os.write(ours, _EOF)
