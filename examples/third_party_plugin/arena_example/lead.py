"""An analysis with a section of the report: the lead of the first team."""

from dataclasses import dataclass
from itertools import pairwise

import altair as alt
import pandas as pd

from arena.types import Chart, Finding, Section, Table


@dataclass(frozen=True)
class Lead:
    """How far each team is behind the one before it."""

    name: str = "lead"

    def run(self, study, rng):
        sign = -1 if study.metric.greater_is_better else 1
        order = sorted(range(len(study.teams)), key=lambda team: sign * study.scores[team])
        scores = [float(study.scores[team]) for team in order]
        behind = [abs(before - after) for before, after in pairwise(scores)]
        verdict = "There is one team only."
        if behind:
            first, second = (study.teams[team] for team in order[:2])
            verdict = f"{first} is {behind[0]:.4g} ahead of {second}."
        names = [study.teams[team] for team in order[1:]]
        rows = tuple(zip(names, behind, strict=True))
        document = {"behind": [{"team": team, "behind": gap} for team, gap in rows]}
        table = Table("Behind the team before", ("team", "behind"), rows[:10])
        return Finding(self.name, verdict, document, tables=(table,))


def lead_sections(result):
    """Return the section of the report from the finding of the analysis."""
    for finding in result.findings:
        if finding.analysis == "lead":
            yield Section("Leads", finding.verdict, finding.tables, (lead_chart(finding),))


def lead_chart(finding):
    frame = pd.DataFrame(finding.document["behind"][:30], columns=["team", "behind"])
    chart = (
        alt.Chart(frame)
        .mark_bar()
        .encode(x=alt.X("behind", title="behind the team before"), y=alt.Y("team", sort=None))
    )
    return Chart("leads", "Leads", "How far each team is behind the one before.", chart.to_dict())
