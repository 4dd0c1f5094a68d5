"use strict";
// Plain tables: sorting, filters and columns to choose; the state is in the address.
// Cells without a value stay last both ways. Without a script a table is a table.
(() => {
  const { make, get, all, set, fold, chooser, columns } = helmsite;
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const UNKNOWN = "unknown";
  const UNITS = { "": 1, K: 1e3, M: 1e6, B: 1e9, T: 1e12 };
  const LABELS = { creator: "Creator", size: "Size", access: "Access", scenario: "Scenario", model: "Model", suite: "Suite", method: "Asked as", status: "Status", metric: "Metric", task: "Task", language: "Language", tool: "Made by" };

  // 7B, 350 M, 7200000000 as a number; null where it is none.
  const parameters = (text) => {
    const found = /^\s*(\d+(?:\.\d+)?)\s*([kmbt]?)\s*$/i.exec(text);
    return found ? Number(found[1]) * UNITS[found[2].toUpperCase()] : null;
  };

  const enhance = (table) => {
    const data = table.dataset;
    const key = (name) => ("main" in data ? name : `${table.id}.${name}`);
    let heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    const order = [...body.rows];
    const noun = data.rows || "rows";
    const column = (name) => heads.findIndex((head) => head.dataset.k === name);
    const title = (head) => head.querySelector(".head").textContent.trim();
    if (order.length < 2 && heads.length < 8) return;
    const region = table.closest(".scroll");
    const status = make("span", { role: "status" });
    const bar = make("div", { class: "filter", role: "group", "aria-label": `Filter and order of ${noun}` });
    region.before(bar);
    const label = (row, i) => row.cells[i].textContent.trim();
    let sorted = "", counted = "";
    const tell = () => { status.textContent = [counted, sorted].filter(Boolean).join(" "); };

    // Sorting
    const sort = (name, up) => {
      const i = name ? column(name) : -1;
      let rows = order;
      if (i >= 0) {
        const text = "text" in heads[i].dataset;
        const read = text ? (row) => label(row, i) || null : (row) => {
          const cell = row.cells[i], shown = cell.dataset.v;
          if (shown !== undefined) return Number(shown);
          const first = cell.firstElementChild;
          if (!first || first.className === "hole") return null;
          const number = parseFloat(first.textContent);
          return Number.isNaN(number) ? null : number;
        };
        const compare = text ? collator.compare : (a, b) => a - b;
        rows = order.map((row) => [read(row), row]).sort(([x], [y]) => {
          if (x === null || y === null) return (x === null) - (y === null);
          return up ? compare(x, y) : compare(y, x);
        }).map(([, row]) => row);
      }
      body.replaceChildren(...rows);
      table.classList.toggle("resorted", i >= 0);
      heads.forEach((head, j) => {
        if (j === i) head.setAttribute("aria-sort", up ? "ascending" : "descending");
        else head.removeAttribute("aria-sort");
        const button = head.querySelector(".sort");
        if (button) button.textContent = j === i ? (up ? "▲" : "▼") : "↕";
      });
      return i;
    };
    const turn = (head) => {
      const first = "text" in head.dataset || head.dataset.first === "up" ? "ascending" : "descending";
      const now = head.getAttribute("aria-sort");
      const next = !now ? first : now === first ? (first === "ascending" ? "descending" : "ascending") : "";
      const up = next === "ascending";
      sort(next ? head.dataset.k : "", up);
      set({ [key("sort")]: next && (up ? "" : "-") + head.dataset.k });
      sorted = next ? `Sorted by ${title(head)}, ${next}.` : "In the original order.";
      tell();
    };
    const sortable = (head) => {
      const button = make("button", { type: "button", class: "sort", "aria-label": `Sort by ${title(head)}` }, "↕");
      head.prepend(button);
      head.addEventListener("click", (event) => {
        if (event.target === button || !event.target.closest("a, [title]")) turn(head);
      });
    };
    if (order.length > 1) heads.forEach(sortable);

    // Filters: the words of a row, and what tells rows apart
    const texts = heads.flatMap((head, i) => ("text" in head.dataset ? [i] : []));
    const value = (row, facet) => {
      if (facet in row.dataset) return row.dataset[facet];
      const i = column(facet);
      return i < 0 ? "" : row.cells[i].dataset.v ?? label(row, i);
    };
    const tests = [];
    const none = make("p", { class: "quiet", hidden: true }, `None of the ${noun} matches.`);
    const clear = make("button", { type: "button", hidden: true }, "Clear filters");
    const apply = () => {
      const wanted = tests.map((test) => test()).filter(Boolean);
      let shown = 0;
      for (const row of order) {
        const keep = wanted.every((test) => test(row));
        if (row.hidden === keep) row.hidden = !keep;
        shown += keep;
      }
      counted = wanted.length ? `${shown.toLocaleString("en")} of ${order.length.toLocaleString("en")} ${noun}.` : "";
      clear.hidden = !wanted.length;
      none.hidden = shown > 0;
      table.classList.toggle("filtered", wanted.length > 0);
      tell();
    };
    const resets = [];
    const byWords = () => {
      const input = make("input", { type: "search", "aria-label": `Filter rows by their texts`, placeholder: `Filter ${noun}` });
      const known = new Map();
      const text = (row) => {
        if (!known.has(row)) known.set(row, fold(texts.map((i) => row.cells[i].textContent).join(" ")));
        return known.get(row);
      };
      tests.push(() => {
        const words = fold(input.value).split(/\s+/).filter(Boolean);
        return words.length ? (row) => words.every((word) => text(row).includes(word)) : null;
      });
      input.value = get(key("q"));
      input.addEventListener("input", () => { apply(); set({ [key("q")]: input.value }); });
      resets.push(() => { input.value = ""; set({ [key("q")]: "" }); });
      bar.append(input);
    };
    const byChoice = (facet) => {
      const counts = new Map();
      for (const row of order) {
        const found = value(row, facet);
        counts.set(found, (counts.get(found) || 0) + 1);
      }
      if (counts.size < 2) return;
      const chosen = new Set(all(key(facet)).map((name) => (name === UNKNOWN ? "" : name)).filter((name) => counts.has(name)));
      const show = () => {
        const one = chosen.size === 1 ? [...chosen][0] || UNKNOWN : `${chosen.size} of ${counts.size}`;
        made.tell(chosen.size ? `${LABELS[facet]}: ${one}` : LABELS[facet], chosen.size > 0);
        set({ [key(facet)]: [...chosen].map((name) => name || UNKNOWN) });
      };
      const made = chooser({
        label: LABELS[facet],
        entries: () => [...counts].sort(([a], [b]) => (a === "") - (b === "") || collator.compare(a, b))
          .map(([name, count]) => ({ key: name, text: name || UNKNOWN, note: String(count) })),
        chosen,
        acts: [["All", true], ["None", false]],
        changed: () => { show(); apply(); },
      });
      tests.push(() => (chosen.size ? (row) => chosen.has(value(row, facet)) : null));
      resets.push(() => { chosen.clear(); made.sync(); show(); });
      if (chosen.size) show();
      bar.append(made.element);
    };
    const bySize = () => {
      const sizes = new Set(order.map((row) => value(row, "size")));
      if (sizes.size < 2) return;
      const [low, high] = [["from", "7B"], ["to", "70B"]].map(([word, size]) => make("input", { type: "text", class: "size", "aria-label": `Parameters ${word}, such as ${size}`, placeholder: `e.g. ${size}`, autocomplete: "off", spellcheck: "false" }));
      const limit = (input) => {
        const found = parameters(input.value);
        input.toggleAttribute("aria-invalid", false);
        if (input.value.trim() && found === null) input.setAttribute("aria-invalid", "true");
        return found;
      };
      tests.push(() => {
        const from = limit(low), to = limit(high);
        if (from === null && to === null) return null;
        return (row) => {
          const size = Number(value(row, "size"));
          return size > 0 && size >= (from ?? 0) && size <= (to ?? Infinity);
        };
      });
      const keep = () => {
        const text = low.value.trim() || high.value.trim() ? `${low.value.trim()}..${high.value.trim()}` : "";
        set({ [key("size")]: text });
      };
      [low.value, high.value = ""] = get(key("size")).split("..");
      for (const input of [low, high]) input.addEventListener("input", () => { apply(); keep(); });
      resets.push(() => { low.value = ""; high.value = ""; keep(); });
      bar.append(make("span", { class: "sizes", role: "group", "aria-label": "Size in parameters" }, "Size", low, "to", high));
    };
    if (order.length > (data.rows ? 5 : 15)) byWords();
    for (const facet of order.length > 1 ? (data.facets || "").split(" ").filter(Boolean) : []) {
      if (facet === "size") bySize(); else byChoice(facet);
    }
    clear.addEventListener("click", () => { for (const reset of resets) reset(); apply(); });

    const choice = columns({
      table, order, key, title,
      adopt: (head) => { heads = [...table.tHead.rows[0].cells]; if (order.length > 1) sortable(head); },
      changed: () => { heads = [...table.tHead.rows[0].cells]; measure(); },
    });
    if (choice) bar.append(choice.element);
    bar.append(clear, status);
    if (!bar.querySelector("input, details") && order.length < 2) bar.remove();
    bar.after(none);

    // What is focused is not under the sticky head and column; a fading edge says that there is more.
    const hint = () => {
      region.classList.toggle("more", region.scrollLeft + region.clientWidth < region.scrollWidth - 4);
    };
    const measure = () => {
      region.style.scrollPadding = `${table.tHead.offsetHeight + 4}px 12px 12px ${heads[0].offsetWidth + 8}px`;
      hint();
    };
    region.addEventListener("scroll", hint, { passive: true });
    addEventListener("resize", measure, { passive: true });

    const begin = () => {
      const wanted = get(key("sort")), name = wanted.replace(/^-/, ""), up = name === wanted;
      if (!wanted || sort(name, up) < 0) return;
      sorted = `Sorted by ${title(heads[column(name)])}, ${up ? "ascending" : "descending"}.`;
      tell();
    };
    apply();
    if (choice && choice.ready) choice.ready.then(begin); else begin();
    measure();
    const target = location.hash.startsWith("#run-") && document.getElementById(location.hash.slice(1));
    if (target && table.contains(target)) region.scrollIntoView({ block: "nearest" });
  };

  // A leaderboard's cell says what it is when somebody asks: from its column's head and its own few data.
  const describe = (event) => {
    const link = event.target.closest?.("table.matrix td > a:not([title])");
    if (!link) return;
    const cell = link.parentNode;
    const head = cell.closest("table").tHead.rows[0].cells[cell.cellIndex];
    const [scored, asked] = (cell.dataset.n || head.dataset.n || "").split("/");
    const [low, high] = (cell.dataset.i || "").split(" ");
    const run = /runs\/([^/]+)\//.exec(link.getAttribute("href"));
    const more = cell.querySelector("small a");
    link.title = [
      `${head.dataset.m || "value"} ${link.textContent}`,
      high && `95 % interval ${low} to ${high}`,
      head.dataset.s && `mean over ${cell.dataset.s ? `${cell.dataset.s} of ` : ""}${head.dataset.s} scenarios`,
      asked && `${scored} of ${asked} observations scored`,
      more && more.title.replace(/ of this model.*$/, " not shown here"),
      "r" in cell.dataset && `as reported by its source${/(^|\/)sources\//.test(link.getAttribute("href")) ? ", without instances" : ""}`,
      run && `run ${run[1]}`,
    ].filter(Boolean).join("; ");
  };
  for (const name of ["pointerover", "focusin"]) document.addEventListener(name, describe, true);

  document.querySelectorAll("table[data-sortable]").forEach(enhance);

  // Tabs of like tables keep the filters.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.(".tabs a");
    if (!link) return;
    const kept = new URLSearchParams();
    for (const name of ["q", "creator", "size", "access"]) for (const found of all(name)) kept.append(name, found);
    link.search = kept.toString();
  });
})();
