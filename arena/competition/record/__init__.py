"""What is on record of a competition, and what follows from it and from the settings."""
