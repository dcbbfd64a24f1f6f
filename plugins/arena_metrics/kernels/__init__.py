"""Compiled loops over rows, and plain numpy versions for small inputs."""
