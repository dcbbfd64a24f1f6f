"""Small answers and submissions for the graders of mle-bench, which come without data.

Only the names of columns and the form of their cells follow the graders; all values are random.
"""

from __future__ import annotations

import inspect
import runpy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

__all__ = ["Pair", "pair_for"]

N_ROWS = 24
CLASSES_IN = {
    "dog-breed-identification": ("dogs.py", "DOGS_LIST"),
    "freesound-audio-tagging-2019": ("vocabulary.py", "CLASS_NAMES"),
    "google-quest-challenge": ("classes.py", "CLASSES"),
    "hms-harmful-brain-activity-classification": ("constants.py", "TARGET_COLS"),
    "jigsaw-toxic-comment-classification-challenge": ("classes.py", "CLASSES"),
    "leaf-classification": ("classes.py", "CLASSES"),
    "ranzcr-clip-catheter-line-classification": ("classes.py", "CLASSES"),
    "spooky-author-identification": ("classes.py", "CLASSES"),
}
"""The file and the name of the list of columns, beside the grader."""

Rng: TypeAlias = np.random.Generator
Cells: TypeAlias = tuple[Sequence[Any] | None, Sequence[Any] | None]
"""A column of the answers and of the submission; None where the table lacks it."""


@dataclass(frozen=True)
class Pair:
    """Answers and a submission with the same id column."""

    id: str
    answers: pd.DataFrame
    submission: pd.DataFrame


# -- kinds of columns ------------------------------------------------------------------------------


def binary(rng: Rng, n: int) -> Cells:
    truth = rng.permutation(np.arange(n) % 2)
    return truth, np.round(0.3 * truth + 0.7 * rng.random(n), 4)


def flags(rng: Rng, n: int) -> Cells:
    truth = rng.permutation(np.arange(n) % 2)
    return truth, np.where(rng.random(n) < 0.3, 1 - truth, truth)


def codes(rng: Rng, n: int) -> Cells:
    truth = rng.permutation(np.arange(n) % 4) + 1
    return truth, np.where(rng.random(n) < 0.3, rng.integers(1, 5, n), truth)


def names(rng: Rng, n: int) -> Cells:
    truth = rng.permutation(np.arange(n) % 4)
    predicted = np.where(rng.random(n) < 0.3, rng.integers(0, 4, n), truth)
    return [f"kind {kind}" for kind in truth], [f"kind {kind}" for kind in predicted]


def numbers(rng: Rng, n: int) -> Cells:
    truth = rng.uniform(2, 90, n)
    return np.round(truth, 3), np.round(np.clip(truth + rng.normal(0, 3, n), 1, 99), 3)


def words(rng: Rng, n: int) -> Cells:
    truth = [" ".join(rng.choice([*"abcdef"], 3, replace=False)) for _ in range(n)]
    return truth, [" ".join([*rng.permutation(text.split())[:2], "g"][:3]) for text in truth]


def orders(rng: Rng, n: int) -> Cells:
    truth = [" ".join(rng.permutation([*"abcdef"])) for _ in range(n)]
    return truth, [" ".join(rng.permutation(text.split())) for text in truth]


def digits(rng: Rng, n: int) -> Cells:
    return tuple([" ".join(map(str, rng.integers(1, 9, 4))) for _ in range(n)] for _ in range(2))


def top_five(rng: Rng, n: int) -> Cells:
    truth = [f"w{integer}" for integer in rng.integers(0, 7, n)]
    return truth, [
        " ".join(rng.permutation([f"w{number}" for number in range(7)])[:5]) for _ in truth
    ]


def runs(rng: Rng, n: int) -> Cells:
    """Run-length encodings of masks of 10 x 10."""
    return tuple([f"{rng.integers(1, 30)} {rng.integers(3, 60)}" for _ in range(n)] for _ in "ab")


def boxes_3d(rng: Rng, n: int) -> Cells:
    def one(shift: float) -> str:
        position = " ".join(f"{value:.2f}" for value in (10 + shift, 20, 0, 2, 4, 2, 0.1))
        return f"{rng.random():.2f} {position} car {rng.random():.2f} {position} bus"

    return [one(0) for _ in range(n)], [one(rng.random()) for _ in range(n)]


def characters(rng: Rng, n: int) -> Cells:
    truth = [f"U+30{number % 5} 10 10 20 20 U+40{number % 3} 50 50 9 9" for number in range(n)]
    return truth, [f"U+30{rng.integers(5)} 15 15 U+40{rng.integers(3)} 52 53" for _ in range(n)]


def lesions(rng: Rng, n: int) -> Cells:
    truth = ["none 1 0 0 1 1" if number % 3 else "opacity 1 10 10 50 50" for number in range(n)]
    predictions = [
        f"opacity {rng.random():.3f} {rng.integers(5, 25)} 10 50 50 none {rng.random():.3f} 0 0 1 1"
        for _ in range(n)
    ]
    return truth, predictions


def ten(rng: Rng, n: int) -> Cells:
    return [10] * n, None


def truth_only(kind: Callable[[Rng, int], Cells]) -> Callable[[Rng, int], Cells]:
    return lambda rng, n: (kind(rng, n)[0], None)


def sent_only(kind: Callable[[Rng, int], Cells]) -> Callable[[Rng, int], Cells]:
    return lambda rng, n: (None, kind(rng, n)[1])


# -- tables ----------------------------------------------------------------------------------------


def table(rng: Rng, id: str, columns: Mapping[str, Any], ids: Sequence[Any] | None = None) -> Pair:
    """Return a pair with a column of each kind, and the submission in another order."""
    ids = [f"r{row:03d}" for row in range(N_ROWS)] if ids is None else ids
    answers, submission = {id: ids}, {id: ids}
    for name, kind in columns.items():
        truth, predictions = kind(rng, len(ids))
        answers |= {} if truth is None else {name: truth}
        submission |= {} if predictions is None else {name: predictions}
    return Pair(id, pd.DataFrame(answers), pd.DataFrame(submission))


def one_hot(rng: Rng, id: str, classes: Sequence[str]) -> Pair:
    truth = np.eye(len(classes), dtype=int)[np.arange(max(N_ROWS, len(classes))) % len(classes)]
    chances = np.round(rng.dirichlet(0.2 + 2 * truth.max(0), len(truth)) * 0.9 + truth * 0.1, 7)
    chances[:, -1] = np.abs(np.round(1 - chances[:, :-1].sum(axis=1), 7))
    ids = [f"r{row:03d}" for row in range(len(truth))]
    frames = [pd.DataFrame(values, columns=list(classes)) for values in (truth, chances)]
    for frame in frames:
        frame.insert(0, id, ids)
    return Pair(id, *frames)


def votes(rng: Rng, id: str, classes: Sequence[str]) -> Pair:
    pair = one_hot(rng, id, classes)
    answers = pair.answers.copy()
    answers[list(classes)] = rng.integers(1, 9, (len(answers), len(classes)))
    submission = pair.submission.copy()
    submission[list(classes)] = np.tile([0.1, 0.1, 0.2, 0.2, 0.3, 0.1], (len(answers), 1))
    return Pair(id, answers, submission)


def spine(rng: Rng) -> Pair:
    places = ["patient_overall", *(f"C{number}" for number in range(1, 8))]
    ids = [f"1.2.{row}_{place}" for row in range(6) for place in places]
    return table(rng, "row_id", {"fractured": binary}, ids)


def trips(rng: Rng) -> Pair:
    of_trip = [f"trip{row % 3}" for row in range(N_ROWS)]
    columns = {
        "tripId": lambda *_: (of_trip, of_trip),
        "LatitudeDegrees": numbers,
        "LongitudeDegrees": numbers,
    }
    return table(rng, "UnixTimeMillis", columns, [10**12 + row for row in range(N_ROWS)])


def weeks(rng: Rng) -> Pair:
    ids = [f"P{row // 6}_{row % 6}" for row in range(N_ROWS)]
    of_patient = [identifier.split("_")[0] for identifier in ids]
    columns = {
        "FVC": numbers,
        "Patient": lambda *_: (of_patient, None),
        "Confidence": sent_only(numbers),
    }
    return table(rng, "Patient_Week", columns, ids)


def organs(rng: Rng) -> Pair:
    """Three rows for each slice, one for each class."""
    rows = [
        (f"case1_day{day}_slice_{number:04d}", organ)
        for day in (1, 2)
        for number in range(1, 5)
        for organ in ("large_bowel", "small_bowel", "stomach")
    ]
    truth, predictions = runs(rng, len(rows))
    answers = pd.DataFrame(rows, columns=["id", "class"])
    submission = answers.assign(predicted=predictions)
    return Pair("id", answers.assign(predicted=truth, image_height=10, image_width=10), submission)


def chests(rng: Rng) -> Pair:
    """Two boxes for each image in the answers, and one row for each image in the submission."""
    images = [f"r{row:03d}" for row in range(N_ROWS)]
    low = rng.integers(0, 40, (2 * N_ROWS, 2))
    answers = pd.DataFrame({"image_id": np.repeat(images, 2)})
    answers["class_id"] = np.arange(2 * N_ROWS) % 3
    answers[["x_min", "y_min"]], answers[["x_max", "y_max"]] = low, low + 30
    predictions = [
        " ".join(
            f"{row.class_id} {rng.random():.2f} {row.x_min + 2} {row.y_min} {row.x_max} {row.y_max}"
            for row in answers[answers["image_id"] == image].itertuples()
        )
        for image in images
    ]
    return Pair(
        "image_id", answers, pd.DataFrame({"image_id": images, "PredictionString": predictions})
    )


def toxicity(rng: Rng, grade: Callable[..., Any]) -> Pair:
    identities = inspect.signature(grade).parameters["identity_columns"].default
    columns = {"toxicity": truth_only(flags), "prediction": sent_only(binary)}
    columns |= dict.fromkeys(identities, truth_only(flags))
    return table(rng, "id", columns, [f"r{row:03d}" for row in range(160)])


def spectra(rng: Rng) -> Pair:
    columns = dict.fromkeys(["reactivity", "deg_Mg_pH10", "deg_Mg_50C"], numbers)
    extra = dict.fromkeys(["deg_pH10", "deg_50C"], sent_only(numbers))
    keep = lambda _, n: ([row % 4 > 0 for row in range(n)], None)  # noqa: E731 - one column
    return table(rng, "id_seqpos", {**columns, **extra, "keep": keep})


COLUMNS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "3d-object-detection-for-autonomous-vehicles": ("Id", {"PredictionString": boxes_3d}),
    "AI4Code": ("id", {"cell_order": orders}),
    "aerial-cactus-identification": ("id", {"has_cactus": binary}),
    "alaska2-image-steganalysis": ("Id", {"Label": binary}),
    "aptos2019-blindness-detection": ("id_code", {"diagnosis": codes}),
    "billion-word-imputation": ("id", {"sentence": words}),
    "bms-molecular-translation": ("image_id", {"InChI": words}),
    "cassava-leaf-disease-classification": ("image_id", {"label": codes}),
    "cdiscount-image-classification-challenge": ("_id", {"category_id": codes}),
    "chaii-hindi-and-tamil-question-answering": ("id", {"PredictionString": words}),
    "champs-scalar-coupling": (
        "id",
        {"scalar_coupling_constant": numbers, "type": truth_only(names)},
    ),
    "denoising-dirty-documents": ("id", {"value": numbers}),
    "detecting-insults-in-social-commentary": ("Comment", {"Insult": binary}),
    "dogs-vs-cats-redux-kernels-edition": ("id", {"label": binary}),
    "facebook-recruiting-iii-keyword-extraction": ("Id", {"Tags": words}),
    "google-research-identify-contrails-reduce-global-warming": (
        "record_id",
        {"encoded_pixels": runs, "height": ten, "width": ten},
    ),
    "h-and-m-personalized-fashion-recommendations": ("customer_id", {"prediction": top_five}),
    "herbarium-2020-fgvc7": ("Id", {"Predicted": codes}),
    "herbarium-2021-fgvc8": ("Id", {"Predicted": codes}),
    "herbarium-2022-fgvc9": ("Id", {"Predicted": codes}),
    "histopathologic-cancer-detection": ("id", {"label": binary}),
    "hotel-id-2021-fgvc8": ("image", {"hotel_id": top_five}),
    "hubmap-kidney-segmentation": (
        "id",
        {
            "encoding": truth_only(runs),
            "width_pixels": ten,
            "height_pixels": ten,
            "predicted": sent_only(runs),
        },
    ),
    "icecube-neutrinos-in-deep-ice": ("event_id", {"azimuth": binary, "zenith": binary}),
    "imet-2020-fgvc7": ("id", {"attribute_ids": words}),
    "inaturalist-2019-fgvc6": ("id", {"predicted": codes}),
    "invasive-species-monitoring": ("name", {"invasive": binary}),
    "iwildcam-2019-fgvc6": ("Id", {"Category": codes}),
    "iwildcam-2020-fgvc7": ("Id", {"Category": codes}),
    "kuzushiji-recognition": ("image_id", {"labels": characters}),
    "learning-agency-lab-automated-essay-scoring-2": ("essay_id", {"score": codes}),
    "ml2021spring-hw2": ("Id", {"ClassId": codes}),
    "mlsp-2013-birds": ("Id", {"Probability": binary}),
    "movie-review-sentiment-analysis-kernels-only": ("PhraseId", {"Sentiment": codes}),
    "multi-modal-gesture-recognition": ("Id", {"Sequence": digits}),
    "new-york-city-taxi-fare-prediction": ("key", {"fare_amount": numbers}),
    "nfl-player-contact-detection": ("contact_id", {"contact": flags}),
    "nomad2018-predict-transparent-conductors": (
        "id",
        {"formation_energy_ev_natom": numbers, "bandgap_energy_ev": numbers},
    ),
    "paddy-disease-classification": ("image_id", {"label": names}),
    "petfinder-pawpularity-score": ("Id", {"Pawpularity": numbers}),
    "plant-pathology-2020-fgvc7": (
        "image_id",
        dict.fromkeys(["healthy", "multiple_diseases", "rust", "scab"], binary),
    ),
    "plant-pathology-2021-fgvc8": ("image", {"labels": words}),
    "plant-seedlings-classification": ("file", {"species": names}),
    "playground-series-s3e18": ("id", {"EC1": binary, "EC2": binary}),
    "predict-volcanic-eruptions-ingv-oe": ("segment_id", {"time_to_eruption": numbers}),
    "random-acts-of-pizza": ("request_id", {"requester_received_pizza": binary}),
    "rsna-breast-cancer-detection": ("prediction_id", {"cancer": binary}),
    "rsna-miccai-brain-tumor-radiogenomic-classification": ("BraTS21ID", {"MGMT_value": binary}),
    "seti-breakthrough-listen": ("id", {"target": binary}),
    "siim-covid19-detection": ("id", {"PredictionString": lesions}),
    "siim-isic-melanoma-classification": ("image_name", {"target": binary}),
    "spaceship-titanic": ("PassengerId", {"Transported": flags}),
    "statoil-iceberg-classifier-challenge": ("id", {"is_iceberg": binary}),
    "tabular-playground-series-dec-2021": ("Id", {"Cover_Type": codes}),
    "tabular-playground-series-may-2022": ("id", {"target": binary}),
    "tensorflow-speech-recognition-challenge": ("fname", {"label": names}),
    "text-normalization-challenge-english-language": ("id", {"after": words}),
    "text-normalization-challenge-russian-language": ("id", {"after": words}),
    "tgs-salt-identification-challenge": ("id", {"rle_mask": runs}),
    "the-icml-2013-whale-challenge-right-whale-redux": ("clip", {"probability": binary}),
    "tweet-sentiment-extraction": ("textID", {"selected_text": words}),
    "us-patent-phrase-to-phrase-matching": ("id", {"score": numbers}),
    "ventilator-pressure-prediction": ("id", {"pressure": numbers, "u_out": truth_only(flags)}),
    "vesuvius-challenge-ink-detection": ("Id", {"Predicted": runs, "width": ten, "height": ten}),
    "whale-categorization-playground": ("Image", {"Id": top_five}),
}
"""Competition -> the id column, and the kinds of the other columns."""


def pair_for(competition: Path, grade: Callable[..., Any]) -> Pair | None:
    """Return answers and a submission for a grader in a folder; None if none can be made."""
    name, rng = competition.name, np.random.default_rng(0)
    columns: list[str] = []
    if name in CLASSES_IN:
        file, variable = CLASSES_IN[name]
        columns = list(runpy.run_path(str(competition / file))[variable])
    pairs: Mapping[str, Callable[[], Pair]] = {
        "dog-breed-identification": lambda: one_hot(rng, "id", columns),
        "freesound-audio-tagging-2019": lambda: table(rng, "fname", dict.fromkeys(columns, binary)),
        "google-quest-challenge": lambda: table(rng, "qa_id", dict.fromkeys(columns, numbers)),
        "hms-harmful-brain-activity-classification": lambda: votes(rng, "eeg_id", columns),
        "jigsaw-toxic-comment-classification-challenge": lambda: table(
            rng, "id", dict.fromkeys(columns, binary)
        ),
        "jigsaw-unintended-bias-in-toxicity-classification": lambda: toxicity(rng, grade),
        "leaf-classification": lambda: one_hot(rng, "id", columns),
        "lmsys-chatbot-arena": lambda: one_hot(
            rng, "id", ["winner_model_a", "winner_model_b", "winner_tie"]
        ),
        "osic-pulmonary-fibrosis-progression": lambda: weeks(rng),
        "ranzcr-clip-catheter-line-classification": lambda: table(
            rng, "StudyInstanceUID", dict.fromkeys(columns, binary)
        ),
        "rsna-2022-cervical-spine-fracture-detection": lambda: spine(rng),
        "smartphone-decimeter-2022": lambda: trips(rng),
        "spooky-author-identification": lambda: one_hot(rng, "id", columns),
        "stanford-covid-vaccine": lambda: spectra(rng),
        "uw-madison-gi-tract-image-segmentation": lambda: organs(rng),
        "vinbigdata-chest-xray-abnormalities-detection": lambda: chests(rng),
    }
    if name in pairs:
        return pairs[name]()
    return table(rng, *COLUMNS[name]) if name in COLUMNS else None
