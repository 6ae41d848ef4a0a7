"""Attacks on web servers of one's own, over loopback: who keeps serving, and at what cost to either side."""
