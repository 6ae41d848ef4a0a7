"""What the benchmarks share, and the parts of `benchmarks/run.py`, one subject a module."""
