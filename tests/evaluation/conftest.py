"""Studies made from arrays."""

from __future__ import annotations

from study_boards import correlated_labels, metrics, study_of

__all__ = ["correlated_labels", "metrics", "study_of"]
