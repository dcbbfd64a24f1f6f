"""Mean absolute error and accuracy, written as metrics of Hugging Face's competitions are."""

import pandas as pd
from huggingface_hub import hf_hub_download


def compute(params):
    def fetch(filename):
        return pd.read_csv(
            hf_hub_download(
                repo_id=params.competition_id,
                filename=filename,
                token=params.token,
                repo_type="dataset",
            )
        )

    solution = fetch("solution.csv")
    submission = fetch(f"submissions/{params.team_id}-{params.submission_id}.csv")
    scores = {}
    for split in ("public", "private"):
        ids = solution[solution.split == split][params.submission_id_col].values
        truth = solution[solution[params.submission_id_col].isin(ids)]
        sent = submission[submission[params.submission_id_col].isin(ids)]
        truth = truth.sort_values(params.submission_id_col).reset_index(drop=True)
        sent = sent.sort_values(params.submission_id_col).reset_index(drop=True)
        error = (truth["y"] - sent["y"]).abs()
        scores[f"{split}_score"] = {"mae": error.mean(), "hits": (error < 0.5).mean()}
    return scores
