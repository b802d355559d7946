"""Fitting: one module per algorithm, each returning a FitResult with its certificate."""
