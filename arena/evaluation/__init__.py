"""Scores of predictions and their uncertainty: arrays in, arrays out."""
