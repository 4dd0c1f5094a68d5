"use strict";
// The controls of the finder: a form that is made from what a run's score index holds.
(() => {
  const { make, shown, OUTCOMES } = helmsite;
  const SYMBOLS = { right: "✓", wrong: "✗", "partly right": "◐", failed: "!", "not scored": "–" };
  const MANY = 200, MOST = 2000, PAUSE = 250;
  const SLOW = 5e6; // bytes of texts from which a search waits for Enter
  const TITLES = { score: "Score", confidence: "Confidence", length: "Length" };

  const amount = (value) => (value === value ? String(value) : "");
  const mega = (bytes) => `${Math.round(bytes / 1e6).toLocaleString("en")} MB`;

  // Returns the form and what keeps it true: draw(state, counts). `change(state)` gets
  // each new state.
  const findForm = (rows, search, current, change) => {
    const { index, choices } = rows;
    const fields = [];
    const set = (key) => (state, value) => { state[key] = value; };
    const put = (field, title, read, write, pause = 0) => {
      const label = make("label", {}, make("span", {}, title), field);
      let timer = 0;
      const apply = () => {
        clearTimeout(timer);
        timer = 0;
        const state = current();
        if (read(state) === field.value) return;
        write(state, field.value);
        change(state);
      };
      if (pause < Infinity) field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(apply, pause); });
      field.addEventListener("change", apply);
      fields.push({ field, read });
      return label;
    };
    const select = (name, title, options, read, write) => {
      const field = make("select", { name }, ...options.map(([value, text]) => make("option", { value }, shown(text))));
      return put(field, title, read, write);
    };
    const choice = (key, title, every, options) => select(key, title, [["", every], ...options], (s) => s[key], set(key));
    // Of very many values one is typed, not chosen.
    const pick = (name, title, values, read, write) => {
      const own = values.filter(Boolean);
      if (own.length <= MANY) return select(name, title, [["", "all"], ...own.map((v) => [v, v])], read, write);
      const id = `finder-values-${fields.length}`;
      const field = make("input", { type: "search", name, list: id, autocomplete: "off", placeholder: `one of ${own.length.toLocaleString("en")}` });
      const label = put(field, title, read, write, Infinity);
      label.append(make("datalist", { id }, ...own.slice(0, MOST).map((value) => make("option", { value }))));
      return label;
    };
    const picked = (key, title) => pick(key, title, choices[key], (s) => s[key], set(key));
    const dimension = (name) => {
      const values = rows.valuesOf(name);
      const read = (s) => s.groups[name] ?? "";
      const write = (s, value) => { if (value) s.groups[name] = value; else delete s.groups[name]; };
      return pick(`group ${name}`, shown(name), values, read, write);
    };
    const range = (name) => {
      const unit = { length: ` (${index.unit})`, confidence: ` (${index.sure === "tokens" ? "of the tokens" : "of the answer"})` }[name] || "";
      const end = (i) => {
        const field = make("input", { type: "number", step: "any", name: `${name}-${i ? "to" : "from"}`, placeholder: i ? "to" : "from" });
        return put(field, i ? `${TITLES[name]} at most` : `${TITLES[name]} at least`,
          (s) => (s.ranges[name] ? amount(s.ranges[name][i]) : ""),
          (s, value) => {
            const ends = [...(s.ranges[name] || [NaN, NaN])];
            ends[i] = value === "" ? NaN : Number(value);
            if (ends.every((v) => v !== v)) delete s.ranges[name]; else s.ranges[name] = ends;
          }, PAUSE);
      };
      return make("fieldset", {}, make("legend", {}, TITLES[name] + unit), end(0), end(1));
    };
    const sorts = rows.sorts.flatMap((name) => {
      const ends = { score: ["lowest", "highest"], confidence: ["least", "most"], length: ["shortest", "longest"] }[name];
      const what = name === "length" ? "" : ` ${name}`;
      return [[name, `${ends[0]}${what} first`], [`-${name}`, `${ends[1]}${what} first`]];
    });

    // One line of what is asked most, the rest below.
    const line = make("div", { class: "line" });
    const lower = make("div", { class: "line" });
    const notes = [];
    const texts = typeof index.texts === "object";
    if (texts) {
      const bytes = search.bytes("");
      const slow = bytes > SLOW;
      const field = make("input", { type: "search", name: "q", autocomplete: "off", placeholder: slow ? "words, then Enter" : "words or “a phrase”" });
      notes.push(`A text search finds instances with all of the words; quotes keep a phrase together.${slow ? ` It reads up to ${mega(bytes)}.` : ""}`);
      line.append(put(field, "Text", (s) => s.q, set("q"), slow ? Infinity : PAUSE));
      lower.append(choice("in", "Search in", "inputs and completions", [["input", "inputs and references"], ["completion", "completions"]]));
    }
    const outcome = rows.judged ? choice("show", "Outcome", "any", choices.show.map((w) => [w, w])) : null;
    if (outcome) line.append(outcome);
    if (choices.split.length > 1) line.append(picked("split", "Split"));
    line.append(put(make("input", { type: "search", name: "id", autocomplete: "off" }), "Instance id", (s) => s.id, set("id"), PAUSE));
    if (sorts.length) line.append(choice("sort", "Order", "as in the source", sorts));
    if (choices.metric.length > 1) {
      const [main, ...others] = rows.metrics;
      lower.append(choice("metric", "Judged by", main.title, others.map((m) => [m.name, m.title])));
    }
    if (choices.sub.length > 1) lower.append(picked("sub", "Sub-split"));
    for (const name of rows.dimensions) lower.append(dimension(name));
    if (choices.pert.length > 1) lower.append(picked("pert", "Perturbation"));
    if (choices.trial.length > 1) lower.append(choice("trial", "Trial", "any", choices.trial.map((t) => [t, `trial ${t}`])));
    if (choices.finish.length > 1) lower.append(picked("finish", "Finish reason"));
    lower.append(...rows.sorts.map(range));
    const hidden = lower.querySelectorAll("select, input").length;
    if (!texts) notes.push(index.texts);
    if (rows.sorts.includes("confidence")) {
      notes.push(index.sure === "tokens"
        ? "Confidence is exp(mean log-probability of the completion’s tokens)."
        : "Confidence is the metric max_prob: the probability of the model’s own answer.");
    }
    if (choices.trial.length > 1) notes.push("Without a chosen trial, an outcome is that of any trial; score, confidence and length are means.");
    const count = make("small");
    const more = make("details", { class: "lower" }, make("summary", {}, "More filters ", count), lower, make("p", { class: "quiet" }, notes.join(" ")));
    const form = make("form", { role: "search", "aria-label": "Find instances" }, line);
    if (hidden || notes.length) form.append(more);
    form.addEventListener("submit", (event) => event.preventDefault());

    const draw = (state, counts) => {
      for (const { field, read } of fields) {
        const value = read(state);
        // What somebody is writing is left as it is written.
        if (field.value !== value && (field.matches("select") || document.activeElement !== field)) field.value = value;
      }
      const used = [...lower.querySelectorAll("select, input")].filter((f) => f.value && f.name !== "metric").length;
      count.textContent = used ? `${used} in use` : "";
      if (!outcome) return;
      for (const option of outcome.querySelectorAll("option")) {
        const n = counts[option.value];
        if (n === undefined) continue;
        option.textContent = `${SYMBOLS[option.value] || ""} ${option.value} (${n.toLocaleString("en")})`.trim();
        option.hidden = !n && state.show !== option.value;
      }
    };
    return { form, draw };
  };

  // ---- What is asked for, as words; each can be taken back.
  const asked = (rows, state) => {
    const drop = (key) => (s) => { s[key] = ""; };
    const list = [];
    const add = (words, take) => list.push([shown(words), take]);
    if (state.q) add(`text: ${state.q}`, drop("q"));
    if (state.in) add(`in ${state.in}s`, drop("in"));
    if (state.show) add(state.show, drop("show"));
    if (state.metric) add(`judged by ${rows.metrics.find((m) => m.name === state.metric).title}`, drop("metric"));
    if (state.id) add(`id: ${state.id}`, drop("id"));
    if (state.split) add(`split ${state.split}`, drop("split"));
    if (state.sub) add(`sub-split ${state.sub}`, drop("sub"));
    for (const [name, value] of Object.entries(state.groups)) add(`${name}: ${value}`, (s) => { delete s.groups[name]; });
    if (state.pert) add(state.pert === "original" ? "original only" : state.pert, drop("pert"));
    if (state.trial) add(`trial ${state.trial}`, drop("trial"));
    if (state.finish) add(`finish: ${state.finish}`, drop("finish"));
    for (const [name, [low, high]] of Object.entries(state.ranges)) {
      const words = high !== high ? `at least ${low}` : low !== low ? `at most ${high}` : `${low} to ${high}`;
      add(`${name} ${words}`, (s) => { delete s.ranges[name]; });
    }
    return list;
  };

  const entries = (state) => [
    ...["q", "in", "show", "metric", "id", "split", "sub", "pert", "trial", "finish"].map((key) => [key, state[key]]),
    ...Object.entries(state.groups).map(([name, value]) => ["group", `${name}=${value}`]),
    ...Object.entries(state.ranges).map(([name, ends]) => [name, ends.map(amount).join("..")]),
    ["sort", state.sort],
  ].filter(([, value]) => value);
  const KEYS = ["q", "in", "show", "metric", "id", "split", "sub", "pert", "trial", "finish", "group", "score", "confidence", "length", "sort"];
  Object.assign(helmsite, { findForm, asked, entries, FINDER_KEYS: KEYS, SYMBOLS, OUTCOMES });
})();
