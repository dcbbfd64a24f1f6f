"""F-beta, written as metrics on Kaggle are."""

import kaggle_metric_utilities
import pandas as pd


class ParticipantVisibleError(Exception):
    pass


class Refused(  # noqa: N818 - as people write
    ParticipantVisibleError
):
    pass


print("a metric may print when it is imported")


def score(
    solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str, beta: float = 1.0
) -> float:
    print("and whenever it is called")
    if not solution[row_id_column_name].is_unique:
        raise ValueError("ids must be unique")
    if not solution[row_id_column_name].equals(submission[row_id_column_name]):
        raise ValueError("the rows must stand in the same order")
    del solution[row_id_column_name]
    del submission[row_id_column_name]
    if not pd.api.types.is_numeric_dtype(submission["y"]):
        raise Refused("y must be a number\n\x1b[31min every row" + 300 * "!")
    if (submission["y"] > 1).any():
        raise KeyError(f"secret label {solution['y'].iloc[0]}")
    labels = (submission["y"].to_numpy() > 0.5).astype(int)
    submission["y"] = 0  # its own copy
    return kaggle_metric_utilities.safe_call_score(
        fbeta, solution["y"].to_numpy(), labels, beta=beta
    )


def fbeta(truth, labels, beta):
    hits = (truth * labels).sum()
    return (1 + beta**2) * hits / (beta**2 * truth.sum() + labels.sum())
