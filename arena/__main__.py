"""Entry point of ``python -m arena``."""

from arena.cli.main import main

if __name__ == "__main__":
    main()
