"""Models of links calibrated to a trace: chains and autoregressions from which other links are drawn."""
