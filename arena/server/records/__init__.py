"""The files through which the processes of a server exchange requests and answers.

The web process appends to the intake and stores uploads; the scorer reads both and writes what is
published. Nothing here knows a label, a private score or DuckDB, so the web process can import all
of it.

::

    root/intake/intake.sqlite          requests in order (web writes, scorer reads)
    root/intake/uploads/ID             uploaded files, on disk before their request is
    root/public/COMPETITION.sqlite     answers, boards, state (scorer writes, web reads)
    root/scorer/COMPETITION.json       the requests being judged (scorer only)
"""
