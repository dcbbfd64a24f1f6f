"""The files here are read as an organiser's own: nothing of arena imports them."""

collect_ignore_glob = ["*.py"]
