"""Metrics of texts: exact match and token F1 of answers, word error rate, BLEU and chrF."""

from __future__ import annotations

import importlib
import json
import re
import string
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError
from arena.interfaces import MetricOfSums
from arena.types import FloatArray, MetricTraits, PredictionKind
from arena.utils.distribution import how_to_install
from arena_metrics.parameters import require_choice
from arena_metrics.pointwise import Pointwise

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_WORDS = ("a", "the", "cat", "sat", "on", "mat", "dog", "ran")


def _squad(text: str) -> str:
    """Return a text as the scorer of SQuAD compares it.

    >>> _squad("The  Cat's")
    'cats'
    """
    plain = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


NORMALISATIONS: dict[str, Callable[[str], str]] = {
    "squad": _squad,
    "lower": lambda text: " ".join(text.lower().split()),
    "none": lambda text: text,
}
"""How texts are made alike: as SQuAD's scorer does, lower case and spaces only, or not at all."""


def references_of(cell: str) -> list[str]:
    """Return the reference answers of a cell of the solution: a JSON list of texts, or one text.

    >>> references_of('["a cat", "cat"]'), references_of("a cat")
    (['a cat', 'cat'], ['a cat'])
    """
    if cell.startswith("["):
        try:
            listed = json.loads(cell)
        except ValueError:
            return [cell]
        if isinstance(listed, list) and listed and all(isinstance(text, str) for text in listed):
            return listed
    return [cell]


def _example(
    n_rows: int, n_submissions: int, rng: np.random.Generator
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    def draw(shape: tuple[int, ...]) -> npt.NDArray[Any]:
        cells = [" ".join(rng.choice(_WORDS, rng.integers(1, 7))) for _ in np.ndindex(shape)]
        return np.array(cells, dtype=object).reshape(shape)

    truth, shape = draw((n_rows,)), (n_submissions, n_rows)
    return truth, np.where(rng.random(shape) < 0.4, truth, draw(shape))


@dataclass(frozen=True)
class _BestOfReferences(Pointwise):
    """The mean over the rows of the best agreement of an answer with one of its references."""

    normalise: str = "squad"

    greater_is_better = True
    prediction = PredictionKind.TEXT

    def __post_init__(self) -> None:
        require_choice(self.name, "normalise", self.normalise, tuple(NORMALISATIONS))

    @property
    def traits(self) -> MetricTraits:
        """Row values lie between 0 and 1."""
        return MetricTraits(row_range=(0.0, 1.0), score_range=(0.0, 1.0))

    @abstractmethod
    def _agreement(self, reference: str, answer: str) -> float:
        """Return the agreement of two normalised texts."""

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return ``(m, n)`` best agreements."""
        normal = NORMALISATIONS[self.normalise]
        references = [[normal(text) for text in references_of(cell)] for cell in truth]
        values = np.empty(predictions.shape)
        for (submission, row), cell in np.ndenumerate(predictions):
            answer = normal(cell)
            values[submission, row] = max(
                self._agreement(reference, answer) for reference in references[row]
            )
        return values

    example = staticmethod(_example)


@dataclass(frozen=True)
class ExactMatch(_BestOfReferences):
    """Share of answers that equal a reference after normalisation, as SQuAD's exact match.

    A cell of the solution is a text or a JSON list of references.

    Parameters
    ----------
    normalise
        ``squad``: lower case without punctuation and articles (Rajpurkar et al. 2016); ``lower``:
        lower case and single spaces; ``none``: texts as they are.

    Examples
    --------
    >>> truth = np.array(['["The cat", "a dog"]', "42"], dtype=object)
    >>> ExactMatch().score(truth, np.array(["Dog!", "41"], dtype=object))
    0.5
    """

    name = "exact_match"

    def _agreement(self, reference: str, answer: str) -> float:
        return float(reference == answer)


@dataclass(frozen=True)
class TokenF1(_BestOfReferences):
    """Mean F1 of the words of an answer and of its best reference, as SQuAD's F1.

    Two texts without words agree; a text without words and another one do not, as in SQuAD 2.0.

    Parameters
    ----------
    normalise
        See ``exact_match``.

    Examples
    --------
    >>> truth = np.array(["the black cat"], dtype=object)
    >>> TokenF1().score(truth, np.array(["a cat"], dtype=object)).__round__(6)
    0.666667
    """

    name = "token_f1"

    def _agreement(self, reference: str, answer: str) -> float:
        gold, sent = reference.split(), answer.split()
        if not gold or not sent:
            return float(gold == sent)
        common = sum((Counter(gold) & Counter(sent)).values())
        return 2.0 * common / (len(gold) + len(sent))


@dataclass(frozen=True)
class _TextsMetric(MetricOfSums):
    """A metric of a corpus of texts that is a function of sums over its texts."""

    prediction: ClassVar[PredictionKind] = PredictionKind.TEXT

    @property
    def traits(self) -> MetricTraits:
        """Scores are not negative."""
        return MetricTraits(score_range=(0.0, np.inf))

    def counter(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
    ) -> Callable[[], FloatArray]:
        """Return a function that returns the statistics of each text."""
        return partial(_statistics_of, self, truth, prediction)

    example = staticmethod(_example)


def _statistics_of(
    metric: _TextsMetric, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
) -> FloatArray:
    return np.asarray(metric.case_statistics(truth, prediction[np.newaxis])[0])


@dataclass(frozen=True)
class WordErrorRate(_TextsMetric):
    """Word error rate of transcripts: word edits over reference words, of the whole corpus.

    Infinite if all references are empty and a transcript is not, where jiwer counts the insertions.
    Needs rapidfuzz (extra ``texts``).

    Parameters
    ----------
    normalise
        ``none`` (words are separated by spaces), ``lower`` or ``squad``.
    unit
        ``word``, or ``character`` for the character error rate, in which each space counts.

    Examples
    --------
    >>> truth = np.array(["the cat sat", "on"], dtype=object)
    >>> WordErrorRate().score(truth, np.array(["a cat", "on"], dtype=object))
    0.5
    """

    normalise: str = "none"
    unit: str = "word"

    name = "word_error_rate"
    greater_is_better: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_choice(self.name, "normalise", self.normalise, tuple(NORMALISATIONS))
        require_choice(self.name, "unit", self.unit, ("word", "character"))

    def case_statistics(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return the edits and the length of the reference."""
        distance = _imported("rapidfuzz.distance.Levenshtein", self.name).distance
        units = [self._units(cell) for cell in truth]
        statistics = np.empty((*predictions.shape, 2))
        statistics[..., 1] = list(map(len, units))
        for (submission, row), cell in np.ndenumerate(predictions):
            statistics[submission, row, 0] = distance(units[row], self._units(cell))
        return statistics

    def _units(self, cell: str) -> Sequence[str]:
        text = NORMALISATIONS[self.normalise](cell)
        return text.split() if self.unit == "word" else text.strip()

    def combine(self, sums: FloatArray) -> FloatArray:
        """Return edits over reference units."""
        return np.asarray(sums[..., 0] / sums[..., 1])


@dataclass(frozen=True)
class Bleu(_TextsMetric):
    """BLEU of a corpus (Papineni et al. 2002) from 0 to 100, as sacrebleu computes it.

    Needs sacrebleu (extra ``texts``). A cell of the solution is a text or a JSON list of
    references.

    Parameters
    ----------
    tokenize
        sacrebleu's tokenisation: ``13a``, ``intl``, ``zh``, ``ja-mecab``, ``char`` or ``none``.
    lowercase
        Whether upper and lower case are the same.

    Examples
    --------
    >>> truth = np.array(["the cat sat on the mat"], dtype=object)
    >>> Bleu().score(truth, np.array(["the cat sat on a mat"], dtype=object)).__round__(4)
    53.7285
    """

    tokenize: str = "13a"
    lowercase: bool = False

    name = "bleu"
    greater_is_better: ClassVar[bool] = True

    @property
    def traits(self) -> MetricTraits:
        """From 0 to 100."""
        return MetricTraits(score_range=(0.0, 100.0))

    def case_statistics(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return matches and totals of the n-grams, and the two lengths."""
        scorer = _imported("sacrebleu.metrics", self.name).BLEU(
            tokenize=self.tokenize, lowercase=self.lowercase, effective_order=False
        )
        references = [references_of(cell) for cell in truth]
        statistics = np.empty((*predictions.shape, 10))
        for (submission, row), cell in np.ndenumerate(predictions):
            score = scorer.corpus_score([cell], [[text] for text in references[row]])
            statistics[submission, row] = [
                *score.counts,
                *score.totals,
                score.sys_len,
                score.ref_len,
            ]
        return statistics

    def combine(self, sums: FloatArray) -> FloatArray:
        """Return BLEU with exponential smoothing of orders without a match, as sacrebleu's."""
        matches, totals = sums[..., :4], sums[..., 4:8]
        shares = matches / totals
        missed = (matches == 0) & (totals > 0)
        smoothed = 1.0 / (2.0 ** np.cumsum(missed, axis=-1) * totals)
        shares = np.where(missed, smoothed, shares)
        brevity = np.minimum(1.0, np.exp(1.0 - sums[..., 9] / sums[..., 8]))
        means = np.exp(np.log(shares).mean(axis=-1))
        # An order without any n-gram, or no match at all, gives 0.
        return np.where(
            (totals > 0).all(axis=-1) & matches.any(axis=-1), 100.0 * brevity * means, 0
        )


_BETA = 2
"""Of chrF: recall counts twice as much as precision."""


@dataclass(frozen=True)
class Chrf(_TextsMetric):
    """The character n-gram F-score chrF of a corpus (Popović 2015) from 0 to 100, by sacrebleu.

    Needs sacrebleu (extra ``texts``). A cell of the solution is a text or a JSON list of
    references.

    Parameters
    ----------
    word_order
        2 for chrF++.
    lowercase
        Whether upper and lower case are the same.

    Examples
    --------
    >>> truth = np.array(["the cat sat on the mat"], dtype=object)
    >>> Chrf().score(truth, np.array(["the cat sat on a mat"], dtype=object)).__round__(3)
    65.98
    """

    word_order: int = 0
    lowercase: bool = False

    name = "chrf"
    greater_is_better: ClassVar[bool] = True

    @property
    def traits(self) -> MetricTraits:
        """From 0 to 100."""
        return MetricTraits(score_range=(0.0, 100.0))

    @property
    def _scorer(self) -> Any:
        return _imported("sacrebleu.metrics", self.name).CHRF(
            word_order=self.word_order, lowercase=self.lowercase
        )

    def case_statistics(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return the n-grams of answer and reference, and the common ones, for each order."""
        scorer = self._scorer
        references = [references_of(cell) for cell in truth]
        n_references = max(map(len, references), default=1)
        padded = [texts + texts[:1] * (n_references - len(texts)) for texts in references]
        columns = [list(column) for column in zip(*padded, strict=True)]
        statistics = np.empty((*predictions.shape, 3 * (scorer.char_order + scorer.word_order)))
        for submission, prediction in enumerate(predictions):
            # The statistics of segments are what sacrebleu's own significance tests resample.
            statistics[submission] = scorer._extract_corpus_statistics(list(prediction), columns)
        return statistics

    def combine(self, sums: FloatArray) -> FloatArray:
        """Return F2 of the mean precision and recall of the orders that occur, as sacrebleu's."""
        counts = sums.reshape(*sums.shape[:-1], -1, 3)
        of_answers, of_references, common = np.moveaxis(counts, -1, 0)
        occurs = (of_answers > 0) & (of_references > 0)
        n_orders = np.maximum(occurs.sum(axis=-1), 1)
        precision, recall = (
            np.where(occurs, common / total, 0.0).sum(axis=-1) / n_orders
            for total in (of_answers, of_references)
        )
        matched = precision + recall > 0
        f2 = (1 + _BETA**2) * precision * recall / (_BETA**2 * precision + recall)
        return np.where(matched, 100.0 * f2, 0.0)


def _imported(module: str, metric: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MetricError(
            f"{metric} needs {package}: {how_to_install('texts')}. ({error})"
        ) from error
