"""Competitors that attack the public board."""
