"""Every form of a table of cases: what is read, or why it is refused."""

from __future__ import annotations

from pathlib import Path

from arena.errors import ArenaError
from arena.intake import CaseColumns
from arena.intake.case_table import AUTO, COLUMNS, FROM_FOLDER, FROM_NAME, read_case_table
from arena.interfaces import CaseScores
from kept import check_kept

LONG = "algorithm,case,value\na,1,0.5\na,2,0.25\nb,1,1\nb,2,0\n"
WIDE = "case,a,b\n1,0.5,1\n2,0.25,0\n"
TWO_VALUES = "case,a.dice,b.dice,a.iou,b.iou\n1,0.5,1,0.4,1\n2,0.25,0,0.2,0\n"
FORMS: dict[str, tuple[str, CaseColumns]] = {
    "long": (LONG, CaseColumns()),
    "long, by name": (LONG, CaseColumns(algorithm="case", case="algorithm")),
    "wide": (WIDE, CaseColumns()),
    "wide, cases by name": (WIDE.replace("case", "x"), CaseColumns(case="x")),
    "wide, numbered": ("a,b\n0.5,1\n0.25,0\n", CaseColumns(case=AUTO)),
    "wide, first column of values": ("a,b\n0.5,1\n0.25,0\n", CaseColumns()),
    "wide, first column of whole numbers": ("x,b\n5,1\n25,0\n", CaseColumns()),
    "wide, first column of answers": ("x,b\n1,1\n0,0\n1,1\n", CaseColumns()),
    "wide, with a value": (WIDE, CaseColumns(value="a")),
    "a column for each case": ("team,x,y\na,0.5,1\nb,0,0.25\n",
                               CaseColumns(case=COLUMNS, algorithm="team")),
    "columns of a pattern": ("team,x_f1,y_f1,z\na,0.5,1,3\nb,0,0.25,4\n",
                             CaseColumns(case=COLUMNS, algorithm="team", value="*_f1")),
    "columns of no pattern": ("team,x,y\na,0.5,1\n",
                              CaseColumns(case=COLUMNS, algorithm="team", value="*_f1")),
    "nested values": (TWO_VALUES, CaseColumns(value="dice")),
    "melted by pandas": ("x,variable,value\n1,a,0.5\n1,b,1\n", CaseColumns()),
    "melted, of four columns": ("x,y,variable,value\n1,2,a,0.5\n1,2,b,1\n", CaseColumns()),
    "usual names": ("model,image_id,dice\na,1,0.5\nb,1,1\n", CaseColumns()),
    "usual names of groups": ("model,patient,dice\na,1,0.5\nb,1,1\n", CaseColumns()),
    "usual names of data sets": ("method,dataset,acc\na,d,0.5\nb,d,1\n", CaseColumns()),
    "two usual names of cases": ("model,id,image,dice\na,1,2,0.5\nb,1,2,1\n", CaseColumns()),
    "an algorithm named like a role": ("case,model,b\n1,0.5,1\n2,0.25,0\n", CaseColumns()),
    "two columns of algorithms": ("model,method,case,x\na,c,1,0.5\nb,d,1,1\n", CaseColumns()),
    "three columns": ("classifierName,site,auc\na,x,0.5\nb,x,1\n", CaseColumns()),
    "three columns, two of words of algorithms": ("classifierName,runName,auc\na,x,0.5\nb,x,1\n",
                                                  CaseColumns()),
    "three columns of texts": ("classifierName,site,auc\na,x,good\nb,x,bad\n", CaseColumns()),
    "three columns, one of texts": ("classifierName,site,auc\na,1,0.5\nb,1,1\n", CaseColumns()),
    "four columns, two of texts": ("classifierName,site,auc,n\na,x,0.5,3\nb,x,1,4\n",
                                   CaseColumns()),
    "three columns and row numbers": (",classifierName,site,auc\n0,a,x,0.5\n1,b,x,1\n",
                                      CaseColumns()),
    "three columns and a role": ("classifierName,site,auc\na,x,0.5\nb,x,1\n",
                                 CaseColumns(task="site")),
    "a word of algorithms and a case": ("learner used,id,auc,n\na,1,0.5,3\nb,1,1,4\n",
                                        CaseColumns(value="auc")),
    "several values": ("algorithm,case,x,y\na,1,0.5,1\n", CaseColumns()),
    "several columns, one named value": ("algorithm,case,x,value\na,1,0.5,1\n", CaseColumns()),
    "no case": ("algorithm,x\na,0.5\nb,1\n", CaseColumns()),
    "no value": ("algorithm,case\na,1\nb,1\n", CaseColumns()),
    "an unknown column": (LONG, CaseColumns(value="dice")),
    "two unknown columns": (LONG, CaseColumns(value="dice", task="area")),
    "tasks, groups and repeats": ("algorithm,case,task,cluster,repeat,value\na,1,t,p,1,0.5\n"
                                  "a,1,t,p,2,1\n", CaseColumns()),
    "groups and times": ("algorithm,case,cluster,when,value\na,1,p,1,0.5\n",
                         CaseColumns(time="when")),
    "times": ("case,when,a,b\n1,2026-01-02,0.5,1\n2,2026-01-01,0.25,0\n",
              CaseColumns(time="when")),
    "numbered repeats": ("algorithm,case,value\na,1,0.5\na,1,1\nb,1,0\na,1,2\n",
                         CaseColumns(repeat=AUTO)),
    "numbered repeats of tasks": ("algorithm,case,task,value\na,1,s,0.5\na,1,t,1\na,1,s,0\n",
                                  CaseColumns(repeat=AUTO)),
    "repeats of a file": ("case,0,1\n1,0.5,1\n2,0.25,0\n", CaseColumns(algorithm_from=FROM_NAME)),
    "repeats of a file from 1": ("case,1,2\n1,0.5,1\n2,0.25,0\n",
                                 CaseColumns(algorithm_from=FROM_FOLDER)),
    "no repeats of a file": ("case,2,3\n1,0.5,1\n", CaseColumns(algorithm_from=FROM_NAME)),
    "one number of a file": ("case,0\n1,0.5\n", CaseColumns(algorithm_from=FROM_NAME)),
    "numbers that are not counted": ("case,0,2\n1,0.5,1\n", CaseColumns(algorithm_from=FROM_NAME)),
    "numbers and another column": ("case,x,0,1\n1,3,0.5,1\n",
                                   CaseColumns(algorithm_from=FROM_NAME)),
    "a file with a usual case": ("x,Image,y\n5,1,0.5\n6,2,1\n",
                                 CaseColumns(algorithm_from=FROM_NAME, value="y")),
    "a file with algorithms": (LONG, CaseColumns(algorithm_from=FROM_NAME)),
    "facts": ("case,a,b,taxon\n1,0.5,1,cat\n2,0.25,0,dog\n", CaseColumns()),
    "facts beside one column": ("case,a,taxon\n1,0.5,cat\n2,0.25,dog\n", CaseColumns()),
    "a column of other sizes": ("case,a,b,pixels\n1,0.5,1,40\n2,0.25,0,50\n", CaseColumns()),
    "two of three columns of other sizes": ("case,a,b,c\n1,0.5,10,40\n2,0.25,0,50\n",
                                            CaseColumns()),
    "missing and infinite": ("case,a,b,c,d\n1,NA,-inf,nan,\u2013\n2,Infinity,,.,0.5\n",
                             CaseColumns()),
    "decimal commas": ("case;a;b\n1;0,5;1\n2;0,25;0\n", CaseColumns()),
    "no number": ("case,a,b\n1,x1,1\n2,0.25,0\n", CaseColumns()),
    "an empty case": ("case,a,b\n,0.5,1\n2,0.25,0\n", CaseColumns()),
    "a name twice": ("case,a,a \n1,0.5,1\n", CaseColumns()),
    "no header": ("a,1,0.5\nb,1,1\n", CaseColumns()),
    "a header that is given": ("a,1,0.5\nb,1,1\n",
                               CaseColumns(no_header=("algorithm", "case", "value"))),
}  # fmt: skip


def lines_of(scores: CaseScores) -> list[str]:
    """Return metric, notes and records of a table that was read, a line each."""
    columns = [scores.algorithms, scores.cases, scores.tasks, scores.clusters, scores.repeats]
    n_records = len(scores.values)
    empty = [""] * n_records
    rows = zip(*(empty if column is None else column for column in columns), strict=True)
    moments = empty if scores.moments is None else scores.moments
    return [
        f"{scores.metric}, {scores.greater_is_better}",
        *scores.notes,
        *(
            " | ".join((*map(str, row), f"{moment:g}" if moment != "" else "", f"{value:g}"))
            for row, moment, value in zip(rows, moments, scores.values.tolist(), strict=True)
        ),
    ]


def test_every_form_of_a_table_is_read_or_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "unet").mkdir()
    path = tmp_path / "unet" / "run-1.csv"
    lines = []
    for form, (text, columns) in FORMS.items():
        path.write_text(text, encoding="utf-8")
        lines += ["", f"{form}:"]
        try:
            lines += lines_of(read_case_table(path, columns))
        except ArenaError as error:
            lines += str(error).replace(str(path), path.name).splitlines()
    check_kept("intake/case-tables.txt", "\n".join(lines) + "\n")
