"""Where plans are played: complete plans, their run keys, this machine's cores, and the cache of runs.

A plan is made once, from the experiment and its files; whoever plays it needs nothing else. Its run key names
what it gives: the same key means the same bytes, so a run with a known key need not be played again.
"""
