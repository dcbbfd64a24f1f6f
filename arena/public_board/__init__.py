"""The public board: the mechanism that releases scores, and its state."""
