"""`make dist`: the three wheels in `dist/`; `make dist-check`: the same bytes from another folder.

Usage: python3 -m scripts.wheels [--out FOLDER] [--check] [--folder FOLDER]

`gauntlet-net` (with the guest program), `gauntlet-net-kernel` (the kernel in the cache, which has to be
built) and `gauntlet-net-studies`. auditwheel says of each wheel with programs whether its tag is true. With
--check the committed state is built a second time, kernel and Rust parts too, in a folder of another name and
length below --folder (default: the temporary folder), and every byte is compared.
"""

import argparse
import sys
from pathlib import Path

from scripts.wheels import build, compare
from scripts.wheels.failure import Refused

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> int:
    """Build, say what there is, compare where it was asked for; 1 when something is not as it should be."""
    parser = argparse.ArgumentParser(prog="wheels", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the wheels go (default: dist)")
    parser.add_argument("--check", action="store_true", help="build again elsewhere and compare the bytes")
    parser.add_argument("--folder", type=Path, help="where it is built again (default: the temporary folder)")
    options = parser.parse_args()
    try:
        if options.check:
            compare.refuse_changes(ROOT)
        wheels = build.wheels(ROOT, options.out)
        for wheel in wheels:
            build.tell(wheel)
        if options.check:
            compare.built_elsewhere(ROOT, wheels, options.folder)
            print("Built in two folders, the wheels are the same bytes.")
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
