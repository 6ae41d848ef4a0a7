"""Traffic analysis: what the packets of encrypted page loads tell of the site that was visited.

Visits (`visits`) are played in virtual time; their captures become packet sequences (`capture`,
`sequences`); attacks (`attacks`) learn from some and name the sites of others, divided as `splits` says;
`scores` and `intervals` say how well, and `redundancy` how much of it is memory.
"""
