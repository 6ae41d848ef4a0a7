"""Challenges to a network: what fails in it, from when to when.

Each gives the intervals in which nodes and links are down, worked out from its shape and not sampled: a
circle that grows where it is (`circle`), a storm on its way (`storm`), overload that spreads (`cascade`), an
attack on the most central nodes (`attack`). `profiles` has those of the study behind ResTP, as far as it
tells of them, by name (`challenge`).
"""
