"use strict";
// The finder: filters the instances of all pages of a run by its score index.
(() => {
  const { make, get, set, shown, pointed } = helmsite;
  const WORDS = { 1: ["✓", "right"], 0: ["✗", "wrong"], p: ["◐", "partly right"], f: ["!", "failed"], "-": ["–", "not scored"], n: ["", "scored"] };
  const KINDS = { 1: "right", 0: "wrong", p: "partly", f: "failed", "-": "missing", n: "number" };
  const KEYS = ["id", "show", "split", "group", "pert", "trial", "sort"];
  const PER_LIST = 50;

  helmsite.index = (index) => {
    const box = document.getElementById("finder");
    if (!box) return;
    const here = Number(box.dataset.page || 0);
    const count = index.ids.length;
    const page = (row) => {
      let low = 0, high = index.starts.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (index.starts[middle] <= row) low = middle; else high = middle - 1;
      }
      return low + 1;
    };
    const anchor = (row) => index.anchors[row] || `i-${index.ids[row]}`;
    const codes = (row, trial) => {
      const all = index.codes[row];
      const at = trial === "" ? -1 : index.trials.indexOf(Number(trial));
      return at < 0 ? all : all[at] || "-";
    };
    const state = () => Object.fromEntries(KEYS.map((key) => [key, get(key)]));
    const matches = (s) => {
      const split = index.splits.indexOf(s.split);
      const pert = s.pert === "original" ? index.perts.indexOf("") : index.perts.indexOf(s.pert);
      const group = index.groups.indexOf(s.group);
      const words = s.id.toLowerCase();
      const code = Object.keys(WORDS).find((c) => WORDS[c][1] === s.show);
      const rows = [];
      for (let row = 0; row < count; row += 1) {
        if (words && !index.ids[row].toLowerCase().includes(words)) continue;
        if (s.split && index.split[row] !== split) continue;
        if (s.pert && index.pert[row] !== pert) continue;
        if (s.group && !index.sets[index.set[row]].includes(group)) continue;
        const own = codes(row, s.trial);
        if (s.show === "trials disagree" ? new Set(own).size < 2 : s.show && !own.includes(code)) continue;
        rows.push(row);
      }
      return rows;
    };
    const ordered = (rows, by) => {
      if (!by) return rows;
      const up = by === "lowest";
      const value = (row) => index.values[row];
      return rows.sort((a, b) => {
        const x = value(a), y = value(b);
        if (x === null || y === null) return (x === null) - (y === null) || a - b;
        return (up ? x - y : y - x) || a - b;
      });
    };

    const select = (key, title, options) => {
      const field = make("select", { name: key }, ...options.map(([value, text]) => make("option", { value }, shown(text))));
      field.value = get(key);
      if (field.selectedIndex < 0) field.value = "";
      return make("label", {}, title, field);
    };
    const present = new Set(index.codes.join(""));
    const outcomes = Object.keys(WORDS).filter((code) => present.has(code) && present.size > 1).map((code) => [WORDS[code][1], `${WORDS[code][0]} ${WORDS[code][1]}`.trim()]);
    if (index.trials.length > 1) outcomes.push(["trials disagree", "trials disagree"]);
    const find = make("input", { type: "search", name: "id", autocomplete: "off" });
    find.value = get("id");
    const form = make("form", { "aria-label": "Find instances" }, make("label", {}, "Instance id", find));
    if (outcomes.length) form.append(select("show", "Outcome", [["", "any"], ...outcomes]));
    if (index.splits.length > 1) form.append(select("split", "Split", [["", "all"], ...index.splits.map((s) => [s, s || "none"])]));
    if (index.groups.length) form.append(select("group", "Group", [["", "all"], ...[...index.groups].sort().map((g) => [g, g])]));
    if (index.perts.length > 1) form.append(select("pert", "Perturbation", [["", "all"], ...index.perts.map((p) => [p || "original", p || "original only"])]));
    if (index.trials.length > 1) form.append(select("trial", "Trial", [["", "any"], ...index.trials.map((t) => [String(t), `trial ${t}`])]));
    if (!here) form.append(select("sort", "Order", [["", "as in the source"], ["lowest", "lowest value first"], ["highest", "highest value first"]]));
    const found = make("p", { class: "found", role: "status" });
    const out = make("div");
    box.append(form, found, out);
    box.hidden = false;

    const query = () => {
      const kept = new URLSearchParams();
      for (const [key, value] of Object.entries(state())) if (value && key !== "sort") kept.set(key, value);
      const text = kept.toString();
      return text ? `?${text}` : "";
    };
    const outcome = (code) => {
      const [symbol, word] = WORDS[code];
      return make("span", { class: `v ${KINDS[code]}` }, symbol ? make("b", { "aria-hidden": "true" }, symbol) : "", symbol ? " " : "", word);
    };

    let list = Math.max(1, Number(get("page")) || 1);
    const drawList = (rows) => {
      const pages = Math.max(1, Math.ceil(rows.length / PER_LIST));
      list = Math.min(list, pages);
      const some = { Split: index.splits.length > 1, Groups: index.groups.length > 0 };
      const head = make("tr", {}, ...["Instance", "Outcome", "Value", "Split", "Groups"].filter((t) => some[t] !== false).map((t, i) => make("th", { scope: "col", class: i ? "" : "first" }, make("span", { class: "head" }, t))));
      const body = rows.slice((list - 1) * PER_LIST, list * PER_LIST).map((row) => {
        const pert = index.perts[index.pert[row]];
        const link = make("a", { href: `${page(row)}.html${query()}#${encodeURIComponent(anchor(row))}` }, shown(index.ids[row]));
        const marks = make("td");
        for (const code of index.codes[row]) marks.append(outcome(code), " ");
        const value = index.values[row];
        const groups = index.sets[index.set[row]].map((g) => index.groups[g]).join(", ");
        return make("tr", {}, make("th", { scope: "row", class: "first" }, link, pert ? make("small", {}, shown(pert)) : ""), marks,
          make("td", { class: "n" }, value === null ? "·" : String(Math.round(value * 1000) / 1000)),
          ...(some.Split ? [make("td", {}, shown(index.splits[index.split[row]]))] : []),
          ...(some.Groups ? [make("td", {}, shown(groups))] : []));
      });
      const table = make("table", { class: "board list" }, make("thead", {}, head), make("tbody", {}, ...body));
      out.replaceChildren();
      if (!rows.length) return;
      out.append(make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Instances found" }, table));
      if (pages > 1) {
        const jump = make("input", { type: "number", min: "1", max: String(pages), value: String(list), "aria-label": "Page of the list" });
        const go = (to) => { list = Math.min(pages, Math.max(1, to || 1)); set({ page: list > 1 ? String(list) : "" }); draw(); };
        jump.addEventListener("change", () => go(Number(jump.value)));
        const back = make("button", { type: "button" }, "← back");
        const on = make("button", { type: "button" }, "on →");
        back.disabled = list === 1;
        on.disabled = list === pages;
        back.addEventListener("click", () => go(list - 1));
        on.addEventListener("click", () => go(list + 1));
        out.append(make("p", { class: "pager" }, back, make("span", {}, "page ", jump, ` of ${pages}`), on));
      }
    };
    const drawPage = (rows, filtered) => {
      const wanted = new Set(rows.map(anchor));
      let visible = 0;
      for (const article of document.querySelectorAll("#articles > article")) {
        article.hidden = filtered && !wanted.has(article.id) && `#${encodeURIComponent(article.id)}` !== location.hash;
        visible += !article.hidden;
      }
      const jump = make("select", { "aria-label": "Go to page" }, ...index.starts.map((start, i) => make("option", { value: String(i + 1) }, `page ${i + 1} (from ${start + 1})`)));
      jump.value = String(here);
      jump.addEventListener("change", () => { location.href = `${jump.value}.html${query()}`; });
      if (index.starts.length > 1) found.append(jump);
      out.replaceChildren();
      if (!filtered) return;
      const after = rows.find((row) => page(row) > here);
      const before = rows.filter((row) => page(row) < here).pop();
      const link = (row, words) => make("a", { href: `${page(row)}.html${query()}#${encodeURIComponent(anchor(row))}` }, words);
      const line = make("p", { class: "pager" }, `${visible} on this page.`);
      if (before !== undefined) line.append(link(before, `← page ${page(before)}`));
      if (after !== undefined) line.append(link(after, `page ${page(after)} →`));
      out.append(line);
    };
    const draw = () => {
      const s = state();
      const filtered = KEYS.some((key) => key !== "sort" && s[key]);
      const rows = matches(s);
      found.textContent = filtered ? `${rows.length.toLocaleString("en")} of ${count.toLocaleString("en")} instances match.` : `${count.toLocaleString("en")} instances.`;
      if (here) drawPage(rows, filtered);
      else drawList(ordered(rows, s.sort));
      document.querySelectorAll("nav.pager a[href*='.html'], nav.pages a").forEach((a) => { a.search = query(); });
    };
    const change = (event) => {
      list = 1;
      set({ [event.target.name]: event.target.value, page: "" });
      draw();
    };
    form.addEventListener("input", change);
    form.addEventListener("submit", (event) => event.preventDefault());
    draw();
    if (here) {
      const target = pointed();
      if (target) target.scrollIntoView();
    }

    // j and k go to the next and the previous instance, across pages.
    if (!here) return;
    document.addEventListener("keydown", (event) => {
      const step = { j: 1, k: -1 }[event.key];
      if (!step || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
      const articles = [...document.querySelectorAll("#articles > article:not([hidden])")];
      const at = articles.findIndex((a) => `#${encodeURIComponent(a.id)}` === location.hash);
      const next = articles[at < 0 ? (step > 0 ? 0 : articles.length - 1) : at + step];
      if (next) {
        location.hash = encodeURIComponent(next.id);
        return;
      }
      const rows = matches(state());
      const row = step > 0 ? rows.find((r) => page(r) > here) : rows.filter((r) => page(r) < here).pop();
      if (row !== undefined) location.href = `${page(row)}.html${query()}#${encodeURIComponent(anchor(row))}`;
    });
  };

  // The index is a script beside the page: nothing else can be loaded from file://.
  const box = document.getElementById("finder");
  if (box) document.head.append(make("script", { src: box.dataset.index }));
})();
