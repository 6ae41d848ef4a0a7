"""Models of links calibrated to a trace: chains and autoregressions, step by step, from which links are drawn."""
