"""The export of a finalized competition, and its verification by another person."""
