// Sphinx's scores, but the questions and the glossary come first wherever they match.
var Scorer = {
  score: ([page, _title, _anchor, _text, score]) =>
    score + (["questions", "glossary"].includes(page) ? 1000 : 0),
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
