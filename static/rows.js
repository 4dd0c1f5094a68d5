"use strict";
// A run's score index: rows to filter and to put in order. Nothing here touches the page.
// helmsite/render/columns.py and scoreindex.py write what this reads.
(() => {
  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const VALUE = new Uint8Array(128);
  [...DIGITS].forEach((c, i) => { VALUE[c.charCodeAt(0)] = i; });
  const OUTCOMES = { 1: "right", 0: "wrong", p: "partly right", f: "failed", n: "scored", "-": "not scored" };
  const DISAGREE = "trials disagree";
  const RANGES = ["score", "confidence", "length"];
  const CHOICES = ["show", "split", "sub", "pert", "trial", "finish", "metric", "in"];

  // ---- Columns: `of` are the values, `at` says for each row which of them.
  const column = (packed, count) => {
    if (Array.isArray(packed)) return { of: packed, at: null };
    const { of, at } = packed;
    const places = new Uint16Array(count);
    if (at) {
      const wide = at.length > count;
      for (let row = 0; row < count; row += 1) {
        places[row] = wide
          ? VALUE[at.charCodeAt(2 * row)] * 64 + VALUE[at.charCodeAt(2 * row + 1)]
          : VALUE[at.charCodeAt(row)];
      }
    }
    return { of, at: places };
  };
  const at = (col, row) => col.of[col.at ? col.at[row] : row];
  const spread = (packed, count) => {
    const col = column(packed, count);
    return col.at ? Array.from(col.at, (place) => col.of[place]) : col.of;
  };
  const idsOf = (packed, count) => {
    if (!packed.head) return spread(packed, count);
    const heads = spread(packed.head, count);
    const steps = [...packed.first, ...spread(packed.step, count - 1)];
    let number = 0;
    return heads.map(([prefix, width], row) => {
      number += steps[row];
      return prefix + String(number).padStart(width, "0");
    });
  };

  // ---- The id of an article, as helmsite/render/names.py makes it.
  const K = [], START = [];
  for (let n = 2; K.length < 64; n += 1) {
    if ([2, 3, 5, 7, 11, 13, 17].some((d) => d < n && n % d === 0)) continue;
    const bits = (root) => ((root - Math.floor(root)) * 2 ** 32) | 0;
    if (START.length < 8) START.push(bits(Math.sqrt(n)));
    K.push(bits(Math.cbrt(n)));
  }
  const utf8 = (text) => {
    const bytes = [];
    for (const character of text) {
      const c = character.codePointAt(0);
      if (c < 0x80) bytes.push(c);
      else if (c < 0x800) bytes.push(0xc0 | c >> 6, 0x80 | c & 63);
      else if (c < 0x10000) bytes.push(0xe0 | c >> 12, 0x80 | c >> 6 & 63, 0x80 | c & 63);
      else bytes.push(0xf0 | c >> 18, 0x80 | c >> 12 & 63, 0x80 | c >> 6 & 63, 0x80 | c & 63);
    }
    return bytes;
  };
  const digest = (text) => {
    const bytes = utf8(text);
    const bits = bytes.length * 8;
    bytes.push(0x80);
    while (bytes.length % 64 !== 56) bytes.push(0);
    const state = [...START];
    const w = new Int32Array(64);
    const turn = (x, n) => x >>> n | x << 32 - n;
    const view = new DataView(new Uint8Array([...bytes, 0, 0, 0, 0, bits >>> 24, bits >>> 16, bits >>> 8, bits]).buffer);
    for (let from = 0; from < view.byteLength; from += 64) {
      for (let i = 0; i < 64; i += 1) {
        if (i < 16) { w[i] = view.getInt32(from + 4 * i); continue; }
        const x = w[i - 15], y = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (turn(x, 7) ^ turn(x, 18) ^ x >>> 3) + (turn(y, 17) ^ turn(y, 19) ^ y >>> 10);
      }
      let [a, b, c, d, e, f, g, h] = state;
      for (let i = 0; i < 64; i += 1) {
        const one = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + (e & f ^ ~e & g) + K[i] + w[i] | 0;
        const two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + (a & b ^ a & c ^ b & c) | 0;
        [h, g, f, e, d, c, b, a] = [g, f, e, d + one | 0, c, b, a, one + two | 0];
      }
      [a, b, c, d, e, f, g, h].forEach((word, i) => { state[i] = state[i] + word | 0; });
    }
    return state.slice(0, 2).map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  };
  const slug = (name) => name.replace(/[^A-Za-z0-9._]+/g, "-").slice(0, 80).replace(/^[-.]+|[-.]+$/g, "");
  const start = (text) => [...text].slice(0, 40).join("");
  const anchorOf = (id, perturbation) => (!perturbation && /^[A-Za-z0-9._-]{1,80}$/.test(id) && !/-[0-9a-f]{8,}$/i.test(id)
    ? `i-${id}`
    : `i-${slug(`${start(id)} ${start(perturbation)}`)}-${digest(`${id}\0${perturbation}`)}`);

  // ---- Rows
  const rows = (index) => {
    const count = index.rows;
    const columns = (list) => list.map((packed) => column(packed, count));
    const ids = idsOf(index.ids, count);
    const split = column(index.split, count), sub = column(index.sub, count), pert = column(index.pert, count);
    const groups = new Map(Object.entries(index.groups).map(([name, packed]) => [name, column(packed, count)]));
    const metrics = index.metrics.map((m) => ({ ...m, values: columns(m.values) }));
    const finish = columns(index.finish);
    const numbers = { confidence: columns(index.confidence), length: columns(index.length) };
    const scale = { score: 1, confidence: 1000, length: 1 };
    const starts = [];
    index.pages.reduce((from, size) => { starts.push(from); return from + size; }, 0);

    const page = (row) => {
      let low = 0, high = starts.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (starts[middle] <= row) low = middle; else high = middle - 1;
      }
      return low + 1;
    };
    const code = (metric, value) => {
      if (value === null || typeof value === "string") return value;
      if (!metric.verdict) return "n";
      return value >= 1 ? "1" : value <= 0 ? "0" : "p";
    };
    const metricOf = (state) => metrics.find((m) => m.name === state.metric) || metrics[0];
    // The trials that count: the chosen one, else all.
    const trialsOf = (state) => (state.trial ? [index.trials.indexOf(Number(state.trial))] : index.trials.map((_, i) => i));
    const codes = (row, state) => {
      const metric = metricOf(state);
      if (!metric) return [];
      return trialsOf(state).map((t) => code(metric, at(metric.values[t], row))).filter((c) => c !== null);
    };

    // The numbers of all rows, mean over the trials that count, NaN where there is none;
    // and the rows in their order. Both are kept, as they cost most.
    const kept = new Map();
    const remember = (key, make) => {
      if (!kept.has(key)) {
        if (kept.size > 24) kept.clear();
        kept.set(key, make());
      }
      return kept.get(key);
    };
    const means = (name, state) => {
      const metric = metricOf(state);
      const list = name === "score" ? (metric ? metric.values : []) : numbers[name];
      if (!list.length) return null;
      return remember(["mean", name, state.trial, name === "score" ? metric.name : ""].join("\0"), () => {
        const of = trialsOf(state).map((t) => list[t]);
        const made = new Float64Array(count);
        for (let row = 0; row < count; row += 1) {
          let sum = 0, n = 0;
          for (const col of of) {
            const value = at(col, row);
            if (typeof value === "number") { sum += value; n += 1; }
          }
          made[row] = n ? sum / n / scale[name] : NaN;
        }
        return made;
      });
    };
    const inOrder = (state) => {
      const down = state.sort.startsWith("-");
      const name = down ? state.sort.slice(1) : state.sort;
      const value = name && means(name, state);
      if (!value) return null;
      return remember(["order", state.sort, state.trial, state.metric].join("\0"), () => {
        const order = new Uint32Array(count);
        for (let row = 0; row < count; row += 1) order[row] = row;
        return order.sort((a, b) => {
          const x = value[a], y = value[b];
          if (x !== x || y !== y) return (x !== x) - (y !== y) || a - b;
          return (down ? y - x : x - y) || a - b;
        });
      });
    };

    // Whether outcomes tell rows apart: a number alone does not.
    const judged = metrics.some((m) => m.verdict || m.values.some((col) => col.of.some((v) => typeof v === "string")));

    // ---- State: what an address asks for, as far as this run knows it.
    const choices = {
      split: split.of, sub: sub.of, pert: ["original", ...pert.of.filter(Boolean)],
      finish: [...new Set(finish.flatMap((col) => col.of))].filter((v) => v !== null).sort(),
      trial: index.trials.map(String), metric: metrics.map((m) => m.name),
      in: ["input", "completion"],
      show: [...Object.values(OUTCOMES), DISAGREE],
    };
    const sorts = RANGES.filter((name) => (name === "score" ? metrics.length : numbers[name].length));
    const values = new Map([...groups].map(([name, col]) => [name, new Set(col.of.flat().sort())]));
    const valuesOf = (dimension) => [...values.get(dimension)];
    const parse = (params) => {
      const state = { groups: {}, ranges: {}, id: params.get("id") || "", q: (params.get("q") || "").trim(), sort: "" };
      const ignored = [];
      for (const key of CHOICES) {
        const value = params.get(key) || "";
        const known = choices[key].includes(value);
        state[key] = known ? value : "";
        if (value && !known) ignored.push(`${key} “${value}”`);
      }
      if (state.metric === choices.metric[0]) state.metric = ""; // the main one is meant anyway
      for (const asked of params.getAll("group")) {
        const value = (name) => asked.slice(name.length + 1); // either of the two may hold a "="
        const dimension = [...groups.keys()].find((name) => asked.startsWith(`${name}=`) && values.get(name).has(value(name)));
        if (dimension !== undefined) state.groups[dimension] = value(dimension);
        else if (asked.startsWith("sub_split=") && choices.sub.includes(value("sub_split"))) state.sub = value("sub_split");
        else ignored.push(`group “${asked}”`);
      }
      for (const name of RANGES) {
        const asked = params.get(name) || "";
        const ends = asked.split("..");
        const sound = asked !== ".." && ends.length === 2 && ends.every((v) => v === v.trim() && (v === "" || Number.isFinite(Number(v))));
        if (sound && sorts.includes(name)) state.ranges[name] = ends.map((v) => (v === "" ? NaN : Number(v)));
        else if (asked) ignored.push(`${name} “${asked}”`);
      }
      const sort = new Map([["lowest", "score"], ["highest", "-score"]]).get(params.get("sort")) || params.get("sort") || "";
      if (sorts.includes(sort.replace(/^-/, ""))) state.sort = sort;
      else if (sort) ignored.push(`sort “${sort}”`);
      return { state, ignored };
    };

    // ---- Tests: one for each thing that the state asks for.
    const same = (col, value) => {
      if (!col.at) return (row) => col.of[row] === value;
      const place = col.of.indexOf(value);
      return (row) => col.at[row] === place;
    };
    const some = (col, good) => {
      if (!col.at) return (row) => good(col.of[row]);
      const table = col.of.map(good);
      return (row) => table[col.at[row]];
    };
    const outcomeTest = (state) => {
      const metric = metricOf(state);
      if (!metric) return () => false;
      if (state.show === DISAGREE) {
        return (row) => {
          let first = null;
          for (const col of metric.values) {
            const own = code(metric, at(col, row));
            if (own === null) continue;
            if (first === null) first = own; else if (own !== first) return true;
          }
          return false;
        };
      }
      const wanted = Object.keys(OUTCOMES).find((c) => OUTCOMES[c] === state.show);
      const tests = trialsOf(state).map((t) => some(metric.values[t], (v) => code(metric, v) === wanted));
      return tests.length === 1 ? tests[0] : (row) => tests.some((test) => test(row));
    };
    const tests = (state, found = null) => {
      const list = [];
      if (state.id) {
        const lower = remember("ids", () => ids.map((id) => id.toLowerCase()));
        const words = state.id.toLowerCase();
        list.push((row) => lower[row].includes(words));
      }
      if (state.split) list.push(same(split, state.split));
      if (state.sub) list.push(same(sub, state.sub));
      if (state.pert) list.push(same(pert, state.pert === "original" ? "" : state.pert));
      for (const [dimension, value] of Object.entries(state.groups)) list.push(some(groups.get(dimension), (names) => names.includes(value)));
      if (state.finish) {
        const each = finish.length ? trialsOf(state).map((t) => same(finish[t], state.finish)) : [];
        list.push((row) => each.some((test) => test(row)));
      }
      if (state.trial && metrics.length) {
        const col = metrics[0].values[trialsOf(state)[0]];
        list.push(some(col, (v) => v !== null));
      }
      for (const [name, [low, high]] of Object.entries(state.ranges)) {
        const value = means(name, state);
        list.push((row) => !(value[row] < low) && !(value[row] > high) && value[row] === value[row]);
      }
      if (found) list.push((row) => found.has(row));
      return list;
    };
    // Whether a row matches, whatever a text search finds.
    const matches = (state) => {
      const list = tests(state);
      if (state.show) list.push(outcomeTest(state));
      return (row) => list.every((test) => test(row));
    };

    // Returns the rows that match, in order; those whose id is just what was asked first.
    const filter = (state, found = null) => {
      const all = tests(state, found);
      const outcome = state.show ? outcomeTest(state) : null;
      const counts = Object.fromEntries(choices.show.map((word) => [word, 0]));
      const facets = choices.show.map((word) => [word, outcomeTest({ ...state, show: word })]);
      const order = inOrder(state);
      const matched = [], exact = [];
      let originals = 0;
      for (let i = 0; i < count; i += 1) {
        const row = order ? order[i] : i;
        if (!all.every((test) => test(row))) continue;
        for (const [word, test] of facets) if (test(row)) counts[word] += 1;
        if (outcome && !outcome(row)) continue;
        if (!at(pert, row)) originals += 1;
        if (state.id && !order && ids[row] === state.id) exact.push(row); else matched.push(row);
      }
      return { rows: exact.concat(matched), originals, counts };
    };

    let originals = 0;
    for (let row = 0; row < count; row += 1) if (!at(pert, row)) originals += 1;
    return {
      index, count, originals, starts, metrics, judged, metricOf, choices, sorts, page, parse, matches, filter, codes,
      dimensions: [...groups.keys()], valuesOf,
      number: (name, row, state) => { const list = means(name, state); return list ? list[row] : NaN; },
      id: (row) => ids[row],
      pert: (row) => at(pert, row),
      split: (row) => at(split, row),
      finish: (row, state) => (finish.length ? [...new Set(trialsOf(state).map((t) => at(finish[t], row)).filter((v) => v !== null && v !== ""))] : []),
      groups: (row) => [at(sub, row), ...[...groups].flatMap(([name, col]) => at(col, row).map((v) => `${name}: ${v}`))].filter(Boolean),
      anchor: (row) => anchorOf(ids[row], at(pert, row)),
    };
  };

  Object.assign(helmsite, { rows, OUTCOMES, anchorOf });
})();
