(function () {
  "use strict";
  const compareText = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" }).compare;

  /* What a cell is sorted by: nothing where it is empty, which always comes last. */
  function keyOf(row, column, numeric) {
    const cell = row.cells[column];
    const text = cell.dataset.v === undefined ? cell.textContent.trim() : cell.dataset.v;
    if (text === "") return null;
    return numeric ? parseFloat(text.replace(/,/g, "")) : text;
  }

  /* The rows of a table. If there are many, the page draws the first of them. The others are in a
     noscript behind it, as text, until they are searched, sorted, printed or scrolled to. */
  const MORE = 500;
  const listings = new Map();
  function listing(table) {
    if (!listings.has(table)) listings.set(table, newListing(table));
    return listings.get(table);
  }

  function newListing(table) {
    const body = table.tBodies[0];
    const next = table.parentElement.nextElementSibling;
    const rest = next && next.matches("noscript[data-rest]") ? next : null;
    let rows = null;
    let limit = body.rows.length;
    function all() {
      if (rows === null) {
        const others = document.createElement("template");
        others.innerHTML = rest ? rest.textContent : "";
        rows = [...body.rows, ...others.content.querySelectorAll("tbody > tr")];
      }
      return rows;
    }
    const listed = () => all().filter((row) => !row.hidden).slice(0, limit);
    function show(wanted) {
      rows = wanted;
      body.replaceChildren(...(rest ? listed() : rows));
    }
    function more() {
      const drawn = body.rows.length;
      limit = drawn + MORE;
      body.append(...listed().slice(drawn));
    }
    if (rest) {
      const box = table.parentElement;
      rest.nextElementSibling.hidden = false;
      box.addEventListener("scroll", () => {
        if (box.scrollHeight - box.scrollTop - 2 * box.clientHeight < 0) more();
      }, { passive: true });
      window.addEventListener("beforeprint", () => body.replaceChildren(...all()));
      window.addEventListener("afterprint", () => body.replaceChildren(...listed()));
    }
    return { all, show };
  }

  function sortBy(table, header) {
    const numeric = header.hasAttribute("data-numeric");
    const up = header.getAttribute("aria-sort") !== "ascending";
    const rows = [...listing(table).all()];
    const keys = new Map(rows.map((row) => [row, keyOf(row, header.cellIndex, numeric)]));
    const sign = up ? 1 : -1;
    rows.sort((one, other) => {
      const a = keys.get(one);
      const b = keys.get(other);
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * (numeric ? a - b : compareText(a, b));
    });
    listing(table).show(rows);
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", up ? "ascending" : "descending");
  }

  function makeSortable(table) {
    for (const header of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      button.addEventListener("click", () => sortBy(table, header));
      header.append(button);
    }
  }

  function makeSearchable(input) {
    const table = listing(document.getElementById(input.dataset.find));
    const said = input.parentElement.querySelector("output");
    const plain = (text) => text.normalize("NFKC").toLocaleLowerCase();
    const names = new Map();
    input.addEventListener("input", () => {
      const wanted = plain(input.value.trim());
      const rows = table.all();
      let shown = 0;
      for (const row of rows) {
        if (!names.has(row)) names.set(row, plain(row.querySelector("th").textContent));
        row.hidden = !names.get(row).includes(wanted);
        shown += row.hidden ? 0 : 1;
      }
      table.show(rows);
      said.textContent = wanted ? `${shown} of ${rows.length} ${input.dataset.what}` : "";
    });
    input.parentElement.hidden = false;
  }

  /* A table that goes on to the right fades there: a phone shows no bar to scroll by. */
  function hintAtMore(box) {
    const look = () =>
      box.classList.toggle("more", box.scrollWidth - box.clientWidth - box.scrollLeft > 2);
    box.addEventListener("scroll", look, { passive: true });
    const seen = new ResizeObserver(look);
    seen.observe(box);
    seen.observe(box.firstElementChild);
  }

  /* On a page a picture is as wide as there is room, and names make way for it. */
  function fitted(specification, width, shown) {
    const config = specification.config || {};
    const legend = { ...config.legend, labelLimit: Math.max(150, Math.round(0.9 * width - 130)) };
    const axis = { ...config.axis, labelLimit: Math.min(190, Math.round(0.36 * width)) };
    const fits = typeof specification.width === "number" && (specification.layer || specification.mark);
    /* In a closed part of the page some browsers lay nothing out: then there is no width. */
    const room = { width: shown ? "container" : Math.max(200, width - 190) };
    return { ...specification, ...(fits ? room : {}), config: { ...config, axis, legend } };
  }

  async function draw(script) {
    const place = document.getElementById(script.dataset.chart);
    try {
      const shown = place.clientWidth > 0;
      const width = place.clientWidth || Math.min(832, document.getElementById("main").clientWidth);
      const specification = fitted(JSON.parse(script.textContent), width, shown);
      await window.vegaEmbed(place, specification, {
        mode: "vega-lite",
        renderer: "svg",
        ast: true,
        logLevel: 1,
        defaultStyle: false,
        tooltip: { disableDefaultStyle: true, theme: "custom" },
        actions: { export: true, source: false, compiled: false, editor: false },
        downloadFileName: script.dataset.chart.replace(/^chart-/, ""),
      });
      /* The caption says in words what is drawn: hundreds of marks would drown it. */
      place.querySelector("svg.marks").setAttribute("aria-hidden", "true");
    } catch (fault) {
      place.textContent = "This picture could not be drawn.";
      place.dataset.fault = String(fault);
    }
  }

  /* A link to a closed part of the page opens it. */
  function openTarget() {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const closed = target && target.closest("details");
    if (!closed) return;
    closed.open = true;
    target.scrollIntoView();
  }

  window.addEventListener("hashchange", openTarget);
  openTarget();
  document.querySelectorAll(".scroll > table").forEach(listing);
  document.querySelectorAll("table[data-sortable]").forEach(makeSortable);
  document.querySelectorAll("input[data-find]").forEach(makeSearchable);
  document.querySelectorAll(".scroll").forEach(hintAtMore);
  const charts = Array.from(document.querySelectorAll("script[data-chart]"));
  charts
    .reduce((before, script) => before.then(() => draw(script)), Promise.resolve())
    .then(() => { document.documentElement.dataset.drawn = String(charts.length); });
})();
