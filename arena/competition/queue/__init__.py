"""The queued requests of a served competition: decisions, answers, and their processing."""
