"""The plugin host: loads plugins, calls their hooks, and resolves names such as ``rmse``."""
