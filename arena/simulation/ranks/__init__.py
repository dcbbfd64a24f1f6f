"""How stable ranks would be: many models, many test sets, one known truth."""
