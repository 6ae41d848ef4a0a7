"""One module per KPI. To add one, add a file with a `KPIS` tuple: nothing else needs to know it."""
