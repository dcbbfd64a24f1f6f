"""The command line: one file per command, and one place that turns an error into a message."""
