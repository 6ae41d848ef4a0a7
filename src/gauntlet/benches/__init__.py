"""Benches: computing time and memory, measured on this machine's own kernel, which no guest can give."""
