"""Competitors that attack the public leaderboard."""
