"""The teams of the demo: scikit-learn models on the digits that scikit-learn ships."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from arena.utils.parallel import one_thread_each

DEMO_METRIC = "accuracy"
N_TEAMS = 32
_TRAINING_ROWS = 500
_PUBLIC_SHARE = 0.3


def write_competition(folder: Path, *, seed: int) -> Iterator[str]:
    """Write ``solution.csv`` and ``submissions/TEAM.csv``, and yield each team as it is done.

    The data are the 1,797 handwritten digits that scikit-learn ships: 500 to train on, the others
    to be predicted, three tenths of them public.
    """
    import pandas as pd
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, digits = load_digits(return_X_y=True)
    train_x, test_x, train_y, test_y = train_test_split(
        images / 16.0, digits, train_size=_TRAINING_ROWS, stratify=digits, random_state=seed
    )
    ids = [f"image-{row:04d}" for row in range(len(test_y))]
    public = np.random.default_rng(seed).random(len(test_y)) < _PUBLIC_SHARE
    usage = np.where(public, "Public", "Private")
    solution = pd.DataFrame({"id": ids, "digit": test_y, "Usage": usage})
    solution.to_csv(folder / "solution.csv", index=False)
    (folder / "submissions").mkdir(exist_ok=True)
    for team, model in demo_models(seed):
        # Small matrices gain nothing from more threads, and lose much on a busy machine.
        with warnings.catch_warnings(), one_thread_each():
            warnings.simplefilter("ignore")  # some models do not converge, as in a real competition
            predicted = model.fit(train_x, train_y).predict(test_x)
        submission = pd.DataFrame({"id": ids, "digit": predicted})
        submission.to_csv(folder / "submissions" / f"{team}.csv", index=False)
        yield team


def demo_models(seed: int) -> Iterator[tuple[str, Any]]:
    """Yield the names and models of the demo's teams."""
    for maker in (_linear, _neighbours, _kernels, _trees, _others):
        yield from maker(seed)


def _linear(seed: int) -> Iterator[tuple[str, Any]]:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
    from sklearn.svm import LinearSVC

    yield "logistic-strong-penalty", LogisticRegression(C=0.05, max_iter=500)
    yield "logistic", LogisticRegression(C=1.0, max_iter=500)
    yield "logistic-weak-penalty", LogisticRegression(C=20.0, max_iter=500)
    yield "ridge", RidgeClassifier(random_state=seed)
    yield "perceptron", Perceptron(random_state=seed)
    yield "gradient-descent", SGDClassifier(random_state=seed)
    yield "linear-svm", LinearSVC(random_state=seed)
    yield "linear-discriminant", LinearDiscriminantAnalysis()
    yield "shrunk-discriminant", LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")


def _neighbours(_: int) -> Iterator[tuple[str, Any]]:
    from sklearn.neighbors import KNeighborsClassifier, NearestCentroid

    for neighbours in (1, 3, 5, 11):
        yield f"{neighbours}-nearest", KNeighborsClassifier(neighbours)
    yield "5-nearest-weighted", KNeighborsClassifier(5, weights="distance")
    yield "nearest-centroid", NearestCentroid()


def _kernels(seed: int) -> Iterator[tuple[str, Any]]:
    from sklearn.decomposition import PCA
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    yield "svm-rbf-1", SVC(C=1.0)
    yield "svm-rbf-10", SVC(C=10.0)
    yield "svm-rbf-10-copied", SVC(C=10.0)
    yield "svm-cubic", SVC(kernel="poly", degree=3)
    yield "svm-on-components", make_pipeline(PCA(30, random_state=seed), SVC(C=10.0))
    nystroem = Nystroem(gamma=0.1, n_components=200, random_state=seed)
    yield "nystroem-logistic", make_pipeline(nystroem, LogisticRegression(C=10, max_iter=500))


def _trees(seed: int) -> Iterator[tuple[str, Any]]:
    from sklearn.ensemble import (
        AdaBoostClassifier,
        BaggingClassifier,
        ExtraTreesClassifier,
        RandomForestClassifier,
    )
    from sklearn.tree import DecisionTreeClassifier

    yield "tree", DecisionTreeClassifier(random_state=seed)
    yield "bagged-trees", BaggingClassifier(n_estimators=50, random_state=seed)
    yield "forest-50", RandomForestClassifier(50, random_state=seed)
    yield "forest-300", RandomForestClassifier(300, random_state=seed)
    yield "extra-trees", ExtraTreesClassifier(300, random_state=seed)
    yield "boosted-stumps", AdaBoostClassifier(random_state=seed)


def _others(seed: int) -> Iterator[tuple[str, Any]]:
    from sklearn.dummy import DummyClassifier
    from sklearn.naive_bayes import BernoulliNB, GaussianNB
    from sklearn.neural_network import MLPClassifier

    yield "neural-network", MLPClassifier((100,), max_iter=300, random_state=seed)
    yield "wide-neural-network", MLPClassifier((300,), max_iter=200, random_state=seed)
    yield "gaussian-bayes", GaussianNB(var_smoothing=1e-3)
    yield "bernoulli-bayes", BernoulliNB(binarize=0.3)
    yield "always-the-same", DummyClassifier()
