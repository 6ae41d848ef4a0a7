"""`python -m gauntlet` is the same as `gauntlet`."""

from gauntlet.cli import main

main()
