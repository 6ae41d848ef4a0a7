"""Tests that play runs on the host ground: what is counted and how it ends, never how long it takes."""
