"""arena runs a prediction competition on the organiser's own machine."""
