"""Small programs that stand in the place of server, client and attacker: they speak the same lines, over real
sockets. What they tell is what happened, and nothing is written down beforehand.
"""
