"""The Bayes-error floor: how much better anyone could do, and who is too good to be true."""
