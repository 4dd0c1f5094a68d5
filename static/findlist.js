"use strict";
// The finder's list of instances on a run's page.
(() => {
  const { make, shown, OUTCOMES, SYMBOLS } = helmsite;
  const PER_LIST = 50;
  const KINDS = { 1: "right", 0: "wrong", p: "partly", f: "failed", "-": "missing", n: "number" };

  const outcomes = (codes) => {
    const cell = make("td");
    for (const code of [...new Set(codes)]) {
      const word = OUTCOMES[code], n = codes.filter((c) => c === code).length;
      const symbol = SYMBOLS[word] ? [make("b", { "aria-hidden": "true" }, SYMBOLS[word]), " "] : [];
      cell.append(make("span", { class: `v ${KINDS[code]}` }, ...symbol, n > 1 ? `${word} ×${n}` : word), " ");
    }
    return cell;
  };
  // Three digits, so that a column's numbers stand below each other; whole ones as they are
  const number = (value) => {
    const size = Math.abs(value);
    if (value !== value) return "·";
    if (size >= 1e9 || (size > 0 && size < 5e-4)) return String(Number(value.toPrecision(3)));
    if (Number.isInteger(value)) return value.toLocaleString("en");
    return value.toFixed(size < 1 ? 3 : size < 10 ? 2 : size < 100 ? 1 : 0);
  };

  // Returns draw(state, result, found): `found` are the snippets of a text search.
  const findList = (rows, out, page, actions) => {
    const { index } = rows;
    const some = { split: rows.choices.split.length > 1, finish: rows.choices.finish.filter(Boolean).length > 1, groups: rows.dimensions.length > 0 || rows.choices.sub.length > 1 };
    const titles = { score: "Score", confidence: "Confidence", length: index.unit === "tokens" ? "Tokens" : "Characters" };
    const head = (state, name, first) => {
      const title = make("span", { class: "head" }, titles[name] || name);
      if (!titles[name]) return make("th", { scope: "col", class: first ? "first" : "" }, title);
      const now = { [name]: "ascending", [`-${name}`]: "descending" }[state.sort];
      const button = make("button", { type: "button", class: "sort", "data-sort": name, "aria-label": `Sort by ${titles[name].toLowerCase()}` }, { ascending: "▲", descending: "▼" }[now] || "↕");
      button.addEventListener("click", () => {
        actions.sort(now === "ascending" ? `-${name}` : now ? "" : name);
        out.querySelector(`[data-sort="${name}"]`)?.focus();
      });
      const notes = { score: () => rows.metricOf(state).title, confidence: () => (index.sure === "tokens" ? "of the tokens" : "of the answer") };
      const note = notes[name] ? make("small", {}, shown(notes[name]())) : "";
      return make("th", { scope: "col", "aria-sort": now || false }, button, title, note);
    };
    const snippet = (found) => {
      if (!found || !found.word) return make("td");
      return make("td", { class: "snippet" }, make("small", {}, found.kind, " "), make("span", { dir: "auto" }, shown(found.before), make("mark", {}, shown(found.word)), shown(found.after)));
    };
    const line = (row, state, found) => {
      const pert = rows.pert(row);
      const link = make("a", { href: actions.href(row) }, shown(rows.id(row)));
      return make("tr", {},
        make("th", { scope: "row", class: "first" }, link, pert ? make("small", {}, shown(pert)) : ""),
        ...(found ? [snippet(found.get(row))] : []),
        ...(rows.judged ? [outcomes(rows.codes(row, state))] : []),
        ...rows.sorts.map((name) => make("td", { class: `n ${name}` }, number(rows.number(name, row, state)))),
        ...(some.finish ? [make("td", {}, shown(rows.finish(row, state).sort().join(", ")))] : []),
        ...(some.split ? [make("td", {}, shown(rows.split(row)))] : []),
        ...(some.groups ? [make("td", {}, shown(rows.groups(row).join(", ")))] : []));
    };
    const pager = (pages, draw) => {
      const go = (to) => {
        page.set(Math.min(pages, Math.max(1, Math.floor(to) || 1)));
        draw();
        out.querySelector(".pager input").focus();
      };
      const jump = make("input", { type: "number", min: "1", max: String(pages), value: String(page.get()), "aria-label": "Page of the list" });
      jump.addEventListener("change", () => go(Number(jump.value)));
      const back = make("button", { type: "button" }, "← previous"), on = make("button", { type: "button" }, "next →");
      back.disabled = page.get() === 1;
      on.disabled = page.get() === pages;
      back.addEventListener("click", () => go(page.get() - 1));
      on.addEventListener("click", () => go(page.get() + 1));
      return make("p", { class: "pager" }, back, make("span", {}, "page ", jump, ` of ${pages.toLocaleString("en")}`), on);
    };
    const draw = (state, result, found) => {
      const pages = Math.max(1, Math.ceil(result.rows.length / PER_LIST));
      if (page.get() > pages) page.set(pages);
      const names = ["Instance", ...(found ? ["Text"] : []), ...(rows.judged ? ["Outcome"] : []), ...rows.sorts,
        ...(some.finish ? ["Finish"] : []), ...(some.split ? ["Split"] : []), ...(some.groups ? ["Groups"] : [])];
      const from = (page.get() - 1) * PER_LIST;
      const body = result.rows.slice(from, from + PER_LIST).map((row) => line(row, state, found));
      const table = make("table", { class: "board list found-list" },
        make("thead", {}, make("tr", {}, ...names.map((name, i) => head(state, name, !i)))), make("tbody", {}, ...body));
      out.replaceChildren();
      if (!body.length) return;
      out.append(make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Instances found" }, table));
      if (pages > 1) out.append(pager(pages, () => draw(state, result, found)));
    };
    return draw;
  };
  helmsite.findList = findList;
})();
