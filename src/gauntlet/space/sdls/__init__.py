"""Space data link security in plain Python, made from the facts that public implementations agree on.

It shares no code with the crate `sdls`; the vectors in `crates/sdls/vectors` hold the two against each other.
"""
