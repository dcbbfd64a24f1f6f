"""Mean absolute error, written as MLE-bench's graders are."""

import pandas as pd
from mlebench.grade_helpers import InvalidSubmissionError


def grade(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    if (submission["y"] < -100).any():
        raise InvalidSubmissionError("Predictions below -100 make no sense.")
    merged = answers.merge(submission, on="id", suffixes=("_true", "_sent"))
    if len(merged) != len(answers):
        raise ValueError("ids")
    return (merged["y_true"] - merged["y_sent"]).abs().mean()
