"""Accuracy, written as metrics of Hugging Face's library evaluate are."""

import datasets
import evaluate
from sklearn.metrics import accuracy_score


class Accuracy(evaluate.Metric):
    def _info(self):
        kinds = {"predictions": datasets.Value("int32"), "references": datasets.Value("int32")}
        return evaluate.MetricInfo(description="", features=datasets.Features(kinds))

    def _compute(self, predictions, references):
        return {"accuracy": float(accuracy_score(references, predictions))}
