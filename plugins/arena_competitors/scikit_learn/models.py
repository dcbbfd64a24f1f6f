"""Families of models beside gradient boosting: their settings, and how one model is trained."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.simulation.data import TrainingRows
from arena.types import FloatArray

FAMILIES: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "linear": {"strength": [0.01, 0.1, 1.0, 10.0, 100.0], "products": [False, True]},
    "neighbours": {
        "n_neighbors": [5, 11, 25, 51, 101],
        "weights": ["uniform", "distance"],
        "p": [1, 2],
    },
    "forest": {
        "max_depth": [4, 8, 16, None],
        "min_samples_leaf": [1, 3, 10, 30],
        "max_features": [0.3, 0.6, 1.0],
    },
    "network": {
        "hidden_layer_sizes": [[8], [16], [32], [16, 16]],
        "alpha": [1e-4, 1e-2, 1.0],
        "learning_rate_init": [1e-3, 1e-2],
    },
}
"""The settings of each family, with the values to draw from."""

FOREST_TREES = 60
NETWORK_ROUNDS = 60
MOST_CATEGORIES = 20


def predictions_of_family(
    rows: TrainingRows,
    key: str,  # noqa: ARG001 - every function that trains takes it
    test: FloatArray,
    settings: Mapping[str, Any],
    fixed: Mapping[str, str],
) -> npt.NDArray[np.float32]:
    """Train one model on training and validation rows, and return what it predicts.

    Unknown numbers are replaced by the median, numbers are scaled, and categories become columns of
    0 and 1. One thread.

    Parameters
    ----------
    fixed
        The ``family``, a key of :data:`FAMILIES`.

    Returns
    -------
    ``(n,)`` numbers or probabilities of the second class, or ``(n, n_classes)``.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    features = np.concatenate([rows.training.features, rows.validation.features])
    target = np.concatenate([rows.training.target, rows.validation.target])
    numbers = [
        position for position in range(features.shape[1]) if position not in rows.categorical
    ]
    prepared = ColumnTransformer(
        [
            (
                "numbers",
                make_pipeline(
                    SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
                ),
                numbers,
            ),
            (
                "categories",
                OneHotEncoder(
                    handle_unknown="ignore", max_categories=MOST_CATEGORIES, sparse_output=False
                ),
                list(rows.categorical),
            ),
        ]
    )
    parameters = {name: value for name, value in settings.items() if name != "seed"}
    if "n_neighbors" in parameters:
        parameters["n_neighbors"] = min(parameters["n_neighbors"], len(target))
    is_number = rows.n_classes is None
    model = make_pipeline(
        prepared, *_MODELS[fixed["family"]](parameters, is_number, settings["seed"])
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(features, target)
    if is_number:
        return np.asarray(model.predict(test), dtype=np.float32)
    probabilities = np.zeros((len(test), int(rows.n_classes or 0)), dtype=np.float32)
    probabilities[:, model.classes_.astype(np.intp)] = model.predict_proba(test)
    return probabilities[:, 1] if rows.n_classes == 2 else probabilities


_Steps = Callable[[Mapping[str, Any], bool, int], Sequence[Any]]


def _linear(settings: Mapping[str, Any], is_number: bool, seed: int) -> Sequence[Any]:
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.preprocessing import PolynomialFeatures

    strength = settings["strength"]
    model = (
        Ridge(alpha=1 / strength)
        if is_number
        else LogisticRegression(C=strength, max_iter=300, random_state=seed % 2**31)
    )
    products = [PolynomialFeatures(2, interaction_only=True)] if settings["products"] else []
    return [*products, model]


def _neighbours(settings: Mapping[str, Any], is_number: bool, _: int) -> Sequence[Any]:
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    return [(KNeighborsRegressor if is_number else KNeighborsClassifier)(**settings)]


def _forest(settings: Mapping[str, Any], is_number: bool, seed: int) -> Sequence[Any]:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    forest = RandomForestRegressor if is_number else RandomForestClassifier
    return [forest(**settings, n_estimators=FOREST_TREES, random_state=seed, n_jobs=1)]


def _network(settings: Mapping[str, Any], is_number: bool, seed: int) -> Sequence[Any]:
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    network = MLPRegressor if is_number else MLPClassifier
    return [network(**settings, max_iter=NETWORK_ROUNDS, early_stopping=True, random_state=seed)]


_MODELS: Mapping[str, _Steps] = {
    "linear": _linear,
    "neighbours": _neighbours,
    "forest": _forest,
    "network": _network,
}
