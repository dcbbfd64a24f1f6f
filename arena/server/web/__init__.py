"""The web process: pages, HTTP API, accounts. It holds no labels and cannot read any."""
