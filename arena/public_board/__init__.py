"""What the public leaderboard shows: the mechanism that releases scores, and its state."""
