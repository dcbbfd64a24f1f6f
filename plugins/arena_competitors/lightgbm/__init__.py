"""Competitors that train LightGBM models."""
