"""What the results mean: one module per KPI in `kpis`, distributions, intervals, comparisons."""
