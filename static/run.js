"use strict";
// Runs: exact prompts, token strips, and the finder that filters instances of all pages.
(() => {
  const { make, get, set, exact, copy } = helmsite;

  // ---- Exact prompts: the shared beginning is put before the instance's own part.
  const whole = (details) => {
    const shared = details.dataset.s && document.getElementById(details.dataset.s).querySelector("pre");
    const parts = [shared, details.querySelector("pre.own")].filter(Boolean).map(exact);
    return parts.includes(null) ? null : parts.join("");
  };
  const openPrompt = (details) => {
    if (details.dataset.drawn) return;
    details.dataset.drawn = "1";
    const note = details.querySelector(".begins");
    if (note) {
      const shared = document.getElementById(details.dataset.s).querySelector("pre").cloneNode(true);
      shared.classList.add("tinted");
      note.replaceWith(shared);
    }
    const text = whole(details);
    if (text === null || !text) return;
    const status = make("span", { role: "status", class: "quiet" });
    const button = make("button", { type: "button", class: "copy" }, "Copy exact prompt");
    button.addEventListener("click", async () => {
      const done = await copy(text);
      status.textContent = done ? ` ${[...text].length.toLocaleString("en")} characters copied` : " Copying was refused";
    });
    details.querySelector("summary").after(button, status);
  };

  // ---- Token strips, drawn when asked for.
  const BOUNDS = [0.05, 0.2, 0.5, 1, 2, 3, 5, 8];
  const chance = (nats) => {
    const share = 100 * Math.exp(-nats);
    return share >= 1 ? `${share.toFixed(share < 10 ? 1 : 0)} %` : `${share.toPrecision(2)} %`;
  };
  const mark = (c) => `[U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`;
  const HIDDEN = /[\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
  const shown = (text) => text.replace(/\n/g, "⏎\n").replace(/\t/g, "⇥")
    .replace(/[\u0000-\u0008\u000b-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/(^|[\u0000-\u02ff])([\u200c\u200d\ufe0e\ufe0f]+)(?!\u20e3)/gu, (_, before, hidden) => before + [...hidden].map(mark).join(""))
    .replace(HIDDEN, mark);
  const texts = (details) => {
    if (details.dataset.k) return JSON.parse(details.dataset.k);
    const source = details.closest(".reply").querySelector("pre.out");
    const points = Array.from(exact(source) || "");
    let at = 0;
    return details.dataset.n.split(" ").map((n) => points.slice(at, at += Number(n)).join(""));
  };
  const openTokens = (details) => {
    if (details.dataset.drawn || !details.dataset.l) return;
    details.dataset.drawn = "1";
    const nats = details.dataset.l.split(" ").map((v) => (v === "" ? null : Number(v) / 100));
    const others = details.dataset.a ? JSON.parse(details.dataset.a) : [];
    const strip = make("div", { class: "strip", role: "group", "aria-label": "Tokens, coloured by log-probability" });
    const readout = make("p", { class: "readout", role: "status" }, "Point at a token, tap it, or move with the arrow keys.");
    const tokens = texts(details).map((text, i) => {
      const value = nats[i];
      const bin = value === null || value === undefined ? "u" : BOUNDS.filter((b) => value > b).length;
      return make("span", { class: `tok t${bin}`, tabindex: i ? "-1" : "0", role: "button" }, shown(text) || "∅");
    });
    const tell = (i) => {
      tokens.forEach((t, j) => t.classList.toggle("on", i === j));
      const value = nats[i];
      let words = `Token ${i + 1} of ${tokens.length} “${tokens[i].textContent.replace(/\n/g, "")}”: `;
      words += value === null || value === undefined ? "no log-probability" : `log-probability ${(-value).toFixed(2).replace("-", "−")} (${chance(value)})`;
      const list = (others[i] || []).map(([t, v]) => `“${shown(t).replace(/\n/g, "")}” ${chance(v / 100)}`);
      readout.textContent = list.length ? `${words}; the model’s candidates: ${list.join(", ")}` : words;
    };
    const index = (event) => tokens.indexOf(event.target.closest(".tok"));
    for (const kind of ["mouseover", "focusin", "click"]) {
      strip.addEventListener(kind, (event) => { if (index(event) >= 0) tell(index(event)); });
    }
    strip.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const next = tokens[index(event) + (step || 0)];
      if (!step || !next) return;
      event.preventDefault();
      event.stopPropagation();
      tokens.forEach((t) => { t.tabIndex = t === next ? 0 : -1; });
      next.focus();
    });
    strip.append(...tokens);
    details.append(strip, readout);
  };
  document.addEventListener("toggle", (event) => {
    const details = event.target;
    if (!details.open || !details.matches("details")) return;
    if (details.matches(".prompt")) openPrompt(details);
    if (details.matches(".tokens")) openTokens(details);
  }, true);

  // ---- A link to something folded opens it.
  const pointed = () => {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { /* not percent-encoded: taken as it is */ }
    return id && document.getElementById(id);
  };
  const openTarget = () => {
    const target = pointed();
    if (target && target.matches("details")) target.open = true;
  };
  addEventListener("hashchange", openTarget);
  openTarget();

  // ---- The finder.
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
})();
