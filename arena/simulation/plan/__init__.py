"""How many private rows a competition needs, from the predictions of a pilot."""
