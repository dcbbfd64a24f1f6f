"""Scores a folder of submissions once and ranks them on the private rows."""
