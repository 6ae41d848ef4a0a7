"""Figures of this study; everything else of it is data, in `studies/` at the top of the repository."""
