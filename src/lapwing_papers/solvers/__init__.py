"""Solvers of the papers, registered as `solver="clg"` and `solver="em"`."""
