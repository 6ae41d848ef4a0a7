"""The figures of the report, one module a kind; `gauntlet.report.figures.figure` says what a figure is."""
