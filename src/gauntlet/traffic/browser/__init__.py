"""Visits by a real browser: headless Chromium loads sites from nginx, each a program that carries a flow of
the host ground (docs/formats/external-stack.md), so that what an observer sees is captured as of any flow.

It is the check of the laboratory's own client: what an attack learns from that client's visits should be what
it would learn from a browser's.
"""
