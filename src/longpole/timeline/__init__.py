"""Columns of what happened when, and the arithmetic on sets of time."""
