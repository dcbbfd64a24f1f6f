"""The scorer: the only process of a server that opens the competition."""
