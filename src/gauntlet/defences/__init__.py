"""EN 50159 on paper: which of its defences a protocol has, which of its threats it meets, beside what AB4Rail
D3.5 says.

All of it is data (`protocols.toml`), each cell with its source. Nothing here is measured and no safety
integrity level is claimed; what was not tried says so.
"""
