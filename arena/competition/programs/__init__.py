"""The programs of participants: received, run here or by a runner, and run again."""
