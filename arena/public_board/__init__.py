"""The public leaderboard: the mechanism that releases scores, and its state."""
