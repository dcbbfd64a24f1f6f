"""Functions of two arrays."""

import ctypes
import os
import time

import numpy as np

greater_is_better = False


def mae(y_true, y_pred, sample_weight=None):
    return np.average(np.abs(y_true - y_pred), weights=sample_weight)


def share_of_cats(y_true, y_pred):
    return ((y_pred == "cat") & (y_true == "cat")).mean()


def nothing(y_true, y_pred):
    print("it forgot to return")


def hangs(y_true, y_pred):
    """Hold the interpreter's lock for ever, as code in C may."""
    if y_pred[0] > 5:
        ctypes.PyDLL(None).pause()
    return 0.0


def crashes(y_true, y_pred):
    if y_pred[0] > 5:
        os._exit(7)
    return 0.0


def sleeps(y_true, y_pred):
    time.sleep(0.2)
    return float(np.mean(y_pred))
