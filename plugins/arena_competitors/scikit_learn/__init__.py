"""Teams that train models of scikit-learn."""
