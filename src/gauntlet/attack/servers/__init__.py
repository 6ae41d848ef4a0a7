"""Servers that are attacked: one file a server, one line in `registry`."""
