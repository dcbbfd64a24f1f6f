"""``arena serve``: participants submit over the web, and a single process scores.

``records`` holds the files that the processes share, ``web`` the pages and the HTTP API,
``scorer`` the only process that opens the competition, and ``supervisor`` starts them.
"""
