"""Past leaderboards: read, summarized, and imitated by the teams of a simulation."""
