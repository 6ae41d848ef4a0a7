"""Tests of networks on a map, paths that fail apart, and challenges."""
