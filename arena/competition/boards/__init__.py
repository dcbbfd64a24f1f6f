"""The private and the public boards of a competition, and what of them is published."""
