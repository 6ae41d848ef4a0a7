"""Two guest kernels in turns: how many times as fast as another one the installed kernel is, stack by stack.

`python benchmarks/kernels.py OTHER` plays the greedy flows of `benchmarks/run.py` under both, on one pinned
core, and writes `build/bench-kernels.json`. `kernel/build.sh` in a copy of its folder with a patch taken away
builds a kernel to compare with; `--name` says for the table what the other kernel is.
"""

from functools import partial
from pathlib import Path
from typing import Any

from gauntlet.engine import cores
from gauntlet.engine.hashes import sha256_of_file
from gauntlet.errors import UserError
from speed import line, program, stacks
from speed.host import guest_kernel, host, sentence
from speed.turns import Contender, take_turns, times

FULL_ROUNDS, FULL_BYTES = 5, 25_000_000
SHORT_ROUNDS, SHORT_BYTES = 1, 500_000
USER_SPACE = ("quic-quinn-cubic", "quic-s2n-cubic", "restp-file")
"""The stacks in user space that are compared."""


def main() -> None:
    """Play every stack under both kernels in turns, print and write the ratios."""
    parser = program.options("kernels", "Two guest kernels in turns.", "one round of half a megabyte")
    parser.add_argument("other", type=Path, metavar="OTHER", help="the image of the other kernel")
    parser.add_argument(
        "--name", dest="other_name", help="what the other kernel is (default: its file's name)"
    )
    chosen = parser.parse_args()
    if not chosen.other.is_file():
        raise UserError(f"There is no kernel image {chosen.other}.")
    rounds, size_bytes = (SHORT_ROUNDS, SHORT_BYTES) if chosen.short else (FULL_ROUNDS, FULL_BYTES)
    core = cores.usable_cores()[-1]
    own, other = contenders(size_bytes, core, None), contenders(size_bytes, core, chosen.other.resolve())
    measured: dict[str, Any] = {
        "host": host(),
        "guest_kernel": guest_kernel(),
        "other_kernel": {
            "name": chosen.other_name or chosen.other.name,
            "sha256": sha256_of_file(chosen.other),
        },
        "short": chosen.short,
        "rounds": rounds,
        "bytes": size_bytes,
        "stacks": {},
    }
    print(f"{sentence(measured['host'])}; core {core}, rounds: {rounds}", flush=True)
    print(f"  {'':<38}{'times: wall':>14}{'times: CPU':>14}")
    for name in own:
        turns = take_turns({"own": own[name], "other": other[name]}, rounds)
        found = times(turns["own"], turns["other"])
        measured["stacks"][name] = {f"times_{kind}": value for kind, value in found.items()}
        print(f"  {name:<38}{found['wall']:>14.2f}{found['cpu']:>14.2f}", flush=True)
    program.write(measured, chosen)


def contenders(size_bytes: int, core: int, image: Path | None) -> dict[str, Contender]:
    """Who plays under the kernel `image` (the installed one without it), by the name in the table."""
    kernel = partial(stacks.kernel, size_bytes, core=core, image=image)
    in_user_space = stacks.user_space(size_bytes, core, image)
    return {
        **kernel(line.NOTHING),
        **{f"{name}, everything recorded": each for name, each in kernel(line.EVERYTHING).items()},
        **{name: in_user_space[name] for name in USER_SPACE},
    }


if __name__ == "__main__":
    program.end(main)
