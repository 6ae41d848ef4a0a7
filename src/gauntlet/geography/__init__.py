"""Networks on a map: which paths through them fail apart, and which of their parts a storm takes when.

Networks come with the package or from files (`packaged.load`), paths from heuristics and from exact searches
(`iwpsp`, `mlw`, `exact`, `disjoint`), outages from challenges (`challenges`). Nothing here plays anything.
"""
