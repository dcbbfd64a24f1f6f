"""Two values on two splits, written as metrics of EvalAI are."""

import csv


def evaluate(test_annotation_file, user_submission_file, phase_codename, **kwargs):
    print("Starting Evaluation.....", kwargs["submission_metadata"])

    def read(path):
        with open(path) as file:  # noqa: PTH123 - as people write
            return {row["id"]: float(row["y"]) for row in csv.DictReader(file)}

    truth, predictions = read(test_annotation_file), read(user_submission_file)
    error = sum(abs(truth[id] - predictions[id]) for id in truth) / len(truth)
    rows = float(len(truth))
    output = {"result": [{"train_split": {"mae": 99.0}}, {"test_split": {"mae": error, "n": rows}}]}
    output["submission_result"] = output["result"][0]
    return output if phase_codename == "test" else {}
