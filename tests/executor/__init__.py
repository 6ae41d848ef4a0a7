"""Tests of complete plans, run keys, workers and the cache."""
