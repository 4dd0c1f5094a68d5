"use strict";
// The finder: loads a run's score index when it is asked for, keeps the state in the
// address, and steps through what matches.
(() => {
  const { make, pointed, findForm, findList, asked, entries, markWords, showTrial, termsOf, FINDER_KEYS } = helmsite;
  const box = document.getElementById("finder");
  if (!box) return;
  const AT_ONCE = 300_000; // bytes of an index that a run's page loads unasked
  const here = Number(box.dataset.page || 0);
  const size = Number(box.dataset.size || 0);
  const list = [...document.querySelectorAll("#articles > article")];
  const fragment = (id) => `#${encodeURIComponent(id)}`;
  const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
  const params = () => new URLSearchParams(location.search);
  const hasState = () => FINDER_KEYS.some((key) => params().get(key));

  // ---- What is there before anything is loaded.
  const open = make("button", { type: "button", "aria-expanded": "false", "aria-controls": "finder-form" }, "Filter and search");
  const trouble = make("p", { class: "warning", role: "alert", hidden: true });
  const panel = make("div", { id: "finder-form", hidden: true });
  const found = make("p", { class: "found", role: "status" });
  const chips = make("p", { class: "chips", hidden: true });
  const progress = make("p", { class: "progress", hidden: true });
  const out = make("div");
  const keys = make("p", { class: "keys quiet", hidden: true }, here
    ? "Keys: j next and k previous instance (of those that match), / filter and search, ? this line."
    : "Keys: j and k move through the list, Enter opens an instance, / filter and search, ? this line.");
  const help = make("button", { type: "button", class: "help", "aria-label": "Keys", "aria-expanded": "false" }, "?");
  const toggleKeys = () => {
    keys.hidden = !keys.hidden;
    help.setAttribute("aria-expanded", String(!keys.hidden));
    settle();
    if (!keys.hidden) keys.scrollIntoView({ block: "nearest" });
  };
  help.addEventListener("click", toggleKeys);
  const top = make("div", { class: "top-line" }, ...(here ? [found] : [open, found, help]));
  box.append(top, panel, chips, progress, trouble, keys, out);
  // On a page of instances the controls are in the line that stays in sight.
  const settle = () => {
    top.hidden = !found.textContent && here > 0;
    box.hidden = here > 0 && [...box.children].every((part) => part.hidden || part === out);
  };
  if (size) open.append(make("small", {}, ` ${(size / 1e6).toFixed(1)} MB`));

  // ---- The index, loaded once.
  let rows = null, form = null, search = null, drawList = null, result = null, place = null;
  let listPage = Math.max(1, Math.floor(Number(params().get("page"))) || 1);
  let loading = null;
  const load = () => {
    loading ||= new Promise((resolve) => {
      found.textContent = "Loading the score index …";
      settle();
      const script = make("script", { src: box.dataset.index });
      const failed = () => {
        if (rows) return;
        loading = null;
        script.remove();
        found.textContent = "";
        trouble.textContent = `The score index (${box.dataset.index}) could not be loaded, so nothing can be filtered here. ${here ? "The instances of this page" : "The pages of instances below"} are complete without it.`;
        trouble.hidden = false;
        settle();
        trouble.scrollIntoView({ block: "nearest" });
        resolve(false);
      };
      script.addEventListener("error", failed);
      script.addEventListener("load", () => (rows ? resolve(true) : failed()));
      document.head.append(script);
    });
    return loading;
  };
  helmsite.index = (index) => {
    rows = helmsite.rows(index);
    trouble.hidden = true;
    open.querySelector("small")?.remove();
    search = helmsite.textSearch(index, tell);
    form = findForm(rows, search, () => rows.parse(params()).state, change);
    panel.append(form.form);
    if (!here) drawList = findList(rows, out, pageOfList, { href, sort: (by) => change({ ...rows.parse(params()).state, sort: by }) });
    draw();
    const target = here && pointed();
    if (target) target.scrollIntoView();
  };
  const show = (opened) => {
    panel.hidden = !opened;
    open.setAttribute("aria-expanded", String(opened));
    settle();
    if (opened && box.getBoundingClientRect().top < 0) box.scrollIntoView();
  };
  open.addEventListener("click", async () => {
    const opened = panel.hidden;
    if (await load()) show(opened);
  });

  // ---- State
  const put = (pairs) => {
    const query = params();
    for (const key of [...FINDER_KEYS, "page", "tab"]) query.delete(key);
    for (const [key, value] of pairs) query.append(key, value);
    const text = query.toString();
    try {
      history.replaceState(null, "", location.pathname + (text ? `?${text}` : "") + location.hash);
    } catch { /* some browsers forbid it on file:// */ }
  };
  const change = (state) => {
    listPage = 1;
    put(entries(state));
    draw();
  };
  const pageOfList = {
    get: () => listPage,
    set: (to) => {
      listPage = to;
      put([...entries(rows.parse(params()).state), ...(to > 1 ? [["page", String(to)]] : [])]);
    },
  };
  let queried = { from: null, text: "" };
  const query = () => {
    if (queried.from === location.search) return queried.text;
    const text = new URLSearchParams([...entries(rows.parse(params()).state), ...(params().get("tab") ? [["tab", params().get("tab")]] : [])]).toString();
    queried = { from: location.search, text: text ? `?${text}` : "" };
    return queried.text;
  };
  const href = (row) => `${rows.page(row)}.html${query()}${fragment(rows.anchor(row))}`;

  // ---- Text search. What was found is taken along from page to page.
  const memory = (state) => `helmsite ${rows.index.run} ${Object.values(rows.index.texts)[0].names.join("").slice(0, 400)} ${state.q} ${state.in} ${state.trial}`;
  const keep = (state) => {
    try { sessionStorage.setItem(memory(state), JSON.stringify(search.memory())); } catch { /* searched again */ }
  };
  const recall = (state) => {
    try {
      const kept = JSON.parse(sessionStorage.getItem(memory(state)));
      if (kept) search.remember(kept);
    } catch { /* searched again */ }
  };
  const begin = (state) => {
    const before = search.key;
    search.ask(state.q, state.in, state.trial);
    if (before !== search.key && here) recall(state);
    if (!search.stopped || before !== search.key) goOn(state);
  };
  const goOn = (state) => search.run(rows.matches(state));
  const tell = () => {
    if (!search.running) keep(rows.parse(params()).state);
    draw(true);
  };
  const drawProgress = (state) => {
    progress.hidden = !state.q || (!search.running && !search.stopped && !search.failed);
    if (progress.hidden) return;
    const words = `Searched ${search.searched.toLocaleString("en")} of ${search.of.toLocaleString("en")}${search.running ? " …" : "."}`;
    const lost = search.failed ? ` ${plural(search.failed, "part")} of the text index (search/) could not be loaded.` : "";
    const button = make("button", { type: "button" }, search.running ? "Stop" : "Go on");
    button.addEventListener("click", () => {
      if (search.running) search.stop();
      else goOn(rows.parse(params()).state).then(() => draw(true));
      draw(true);
      progress.querySelector("button")?.focus();
    });
    const focused = progress.contains(document.activeElement);
    progress.replaceChildren(words + lost, " ", button);
    if (focused) button.focus();
  };

  // ---- Drawing
  const sentence = (state, filtered) => {
    const twins = rows.count - rows.originals;
    const versions = (n) => `perturbed version${n === 1 ? "" : "s"}`;
    if (!filtered) return `${plural(rows.originals, "instance")}${twins ? ` and ${twins.toLocaleString("en")} ${versions(twins)}` : ""}.`;
    const own = `${result.originals.toLocaleString("en")} of ${plural(rows.originals, "instance")}`;
    const others = result.rows.length - result.originals;
    const also = twins ? ` and ${others.toLocaleString("en")} of ${twins.toLocaleString("en")} ${versions(twins)}` : "";
    return `${own}${also} match${state.q && search.running ? " so far" : ""}.`;
  };
  const drawChips = (state, ignored) => {
    const what = asked(rows, state);
    const buttons = what.map(([words, take], i) => {
      const button = make("button", { type: "button", class: "chip", "aria-label": `Remove the filter ${words}` }, words, make("span", { "aria-hidden": "true" }, " ×"));
      button.addEventListener("click", () => {
        take(state);
        change(state);
        (chips.querySelectorAll("button")[i] || chips.querySelector("button") || open).focus();
      });
      return button;
    });
    if (what.length) {
      const clear = make("button", { type: "button" }, "Clear");
      clear.addEventListener("click", () => { change({ ...rows.parse(new URLSearchParams()).state, sort: state.sort }); open.focus(); });
      buttons.push(clear);
    }
    if (ignored.length) buttons.push(make("span", { class: "warn" }, `Not known in this run, so ignored: ${helmsite.shown(ignored.join(", "))}.`));
    chips.hidden = !buttons.length;
    chips.replaceChildren(...buttons);
  };
  const drawArticles = (filtered) => {
    place = new Int32Array(rows.count).fill(-1);
    result.rows.forEach((row, i) => { place[row] = i; });
    const first = rows.starts[here - 1];
    list.forEach((article, i) => {
      article.hidden = filtered && place[first + i] < 0 && fragment(article.id) !== location.hash;
    });
  };
  // A word that was found in the pointed instance is not left in a folded part or in
  // the tab of another trial.
  const uncover = (ranges) => {
    const article = pointed();
    const own = ranges.map((range) => range.startContainer.parentElement).filter((part) => article && article.contains(part));
    if (!own.length || own.some((part) => !part.checkVisibility || part.checkVisibility())) return;
    const panel = own[0].closest(".trial");
    if (panel) showTrial(panel.querySelector("h3").textContent.replace(/\D+/, ""));
    for (let part = own[0].closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  };
  let told = "";
  const draw = (again = false) => {
    const { state, ignored } = rows.parse(params());
    const textless = typeof rows.index.texts !== "object";
    if (state.q && textless) {
      ignored.push(`q “${state.q}” (${rows.index.texts})`);
      state.q = "";
    }
    if (state.q && !termsOf(state.q).length) {
      ignored.push(`q “${state.q}”`);
      state.q = "";
    }
    if (state.q && !again) begin(state);
    result = rows.filter(state, state.q ? search : null);
    const filtered = asked(rows, state).length > 0;
    form.draw(state, result.counts);
    const words = sentence(state, filtered);
    found.setAttribute("aria-live", state.q && search.running ? "off" : "polite");
    if (words !== told) found.textContent = told = words;
    drawChips(state, ignored);
    drawProgress(state);
    settle();
    if (here) {
      drawArticles(filtered);
      drawStep();
      uncover(markWords(state.q ? search.terms : []));
    } else drawList(state, result, state.q ? search.matches : null);
    const text = query();
    document.querySelectorAll("nav.pager a[href*='.html'], nav.pages a").forEach((a) => {
      const now = a.getAttribute("href");
      const next = now.replace(/(\?[^#]*)?(#.*)?$/, (_, old, place) => text + (place || ""));
      if (next !== now) a.setAttribute("href", next);
    });
  };

  // ---- Stepping: through the page, and on to its neighbours; with an index, through
  // what matches in its order.
  const at = () => list.findIndex((article) => fragment(article.id) === location.hash);
  const neighbour = (by) => document.querySelector(`nav.pager a[rel=${by > 0 ? "next" : "prev"}]`);
  const target = (by) => {
    const now = at();
    if (!result) {
      const next = list[now < 0 ? (by > 0 ? 0 : -1) : now + by];
      if (next) return fragment(next.id);
      const link = (now >= 0 || by < 0) && neighbour(by);
      return link ? `${link.getAttribute("href")}#${by > 0 ? "first" : "last"}` : "";
    }
    const first = rows.starts[here - 1];
    const row = now < 0 ? (by > 0 ? first - 1 : first) : first + now;
    let next = now >= 0 && place[row] >= 0 ? result.rows[place[row] + by] : undefined;
    if (now < 0 || place[row] < 0) {
      const sorted = rows.parse(params()).state.sort;
      if (sorted) next = by > 0 ? result.rows[0] : undefined;
      else next = by > 0 ? result.rows.find((r) => r > row) : result.rows.findLast((r) => r < row);
    }
    if (next === undefined) return "";
    return rows.page(next) === here ? fragment(rows.anchor(next)) : href(next);
  };
  const back = make("button", { type: "button", "aria-label": "previous instance" }, "←", make("span", { class: "wide" }, " previous"));
  const on = make("button", { type: "button", "aria-label": "next instance" }, make("span", { class: "wide" }, "next "), "→");
  const position = make("span", { class: "position", role: "status" });
  const drawStep = () => {
    const now = at();
    if (!result) {
      position.textContent = now < 0 ? plural(list.length, "instance") : `${now + 1} of ${list.length} on this page`;
    } else {
      const own = now < 0 ? -1 : place[rows.starts[here - 1] + now];
      const all = result.rows.length.toLocaleString("en");
      const shown = list.filter((article) => !article.hidden).length;
      position.textContent = own >= 0 ? `${(own + 1).toLocaleString("en")} of ${all}` : now >= 0 ? `not among the ${all} that match` : `${shown} of ${all} on this page`;
    }
    back.disabled = !target(-1);
    on.disabled = !target(1);
  };
  let steps = Promise.resolve();
  const step = (by) => {
    steps = steps.then(async () => {
      if (!rows && hasState()) await load();
      const to = target(by);
      if (!to) return;
      if (to.startsWith("#")) {
        location.hash = to;
        drawStep();
      } else location.href = to;
    });
  };
  if (here) {
    back.addEventListener("click", () => step(-1));
    on.addEventListener("click", () => step(1));
    box.after(make("div", { class: "stepper" }, back, on, position, open, help));
    addEventListener("hashchange", () => {
      if (result) {
        const target = pointed();
        const hidden = target && target.hidden;
        drawArticles(asked(rows, rows.parse(params()).state).length > 0);
        uncover([...(globalThis.CSS && CSS.highlights && CSS.highlights.get("found") || [])]);
        if (hidden) target.scrollIntoView();
      }
      drawStep();
    });
    const end = { "#first": list[0], "#last": list[list.length - 1] }[location.hash];
    if (end) location.replace(fragment(end.id));
    drawStep();
  }
  settle();
  const walk = (by) => {
    const links = [...out.querySelectorAll("tbody th a")];
    const now = links.indexOf(document.activeElement);
    const next = links[now < 0 ? (by > 0 ? 0 : -1) : now + by];
    if (next) next.focus();
  };
  document.addEventListener("keydown", async (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    const by = { j: 1, k: -1 }[event.key];
    if (by && here) step(by);
    else if (by) walk(by);
    else if (event.key === "?") toggleKeys();
    else if (event.key === "/") {
      event.preventDefault();
      if (await load()) {
        show(true);
        panel.querySelector("input").focus();
      }
    }
  });

  if (hasState() || (!here && size <= AT_ONCE)) load();
  if (!here && size <= AT_ONCE) {
    show(true);
    open.hidden = true;
  } else if (!here && hasState()) show(true);
})();
