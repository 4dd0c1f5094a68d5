"use strict";
// Text search: loads the shards of a run's text index one after the other and keeps what
// matches, not the texts. helmsite/render/textindex.py writes the shards.
(() => {
  const { make } = helmsite;
  const root = document.documentElement.dataset.root;
  const AROUND = 48, AT_ONCE = 2, MOST = 30;
  const NAMES = { inputs: "input", completions: "completion" };

  // Words, and "phrases" in quotes; all of them must be found.
  const termsOf = (text) => {
    const found = text.normalize("NFC").toLowerCase().matchAll(/"([^"]+)"?|([^\s"]+)/g);
    return [...new Set([...found].map((m) => m[1] || m[2]))].slice(0, MOST);
  };
  // A part of a text by itself: a slice alone would hold the whole text in memory.
  const copied = (text) => JSON.parse(JSON.stringify(text));
  const snippet = (text, lower, term, kind) => {
    const source = lower.length === text.length ? text : lower;
    const from = lower.indexOf(term), to = from + term.length;
    const begin = Math.max(0, from - AROUND), end = Math.min(source.length, to + AROUND);
    const [before, word, after] = copied([source.slice(begin, from), source.slice(from, to), source.slice(to, end)]);
    return { kind, before: (begin ? "…" : "") + before, word, after: after + (end < source.length ? "…" : "") };
  };

  const waiting = new Map();
  helmsite.texts = (entries, name) => { if (waiting.has(name)) waiting.get(name).entries = entries; };
  const load = (name) => {
    if (waiting.has(name)) return waiting.get(name).promise;
    const loading = { entries: null };
    loading.promise = new Promise((resolve) => {
      const script = make("script", { src: `${root}search/${name}.js` });
      const end = () => {
        waiting.delete(name);
        script.remove();
        resolve(loading.entries);
      };
      script.addEventListener("load", end);
      script.addEventListener("error", end);
      document.head.append(script);
    });
    waiting.set(name, loading);
    return loading.promise;
  };

  // `tell` is called now and then while a search goes on, and at its end.
  const textSearch = (index, tell) => {
    const shards = [];
    if (typeof index.texts === "object") {
      for (const [kind, { names, rows }] of Object.entries(index.texts)) {
        let first = 0;
        names.forEach((name, i) => {
          shards.push({ kind, name, first, end: first + rows[i] });
          first += rows[i];
        });
      }
      shards.sort((a, b) => a.first - b.first || (a.kind < b.kind ? 1 : -1));
    }
    const search = { key: null, terms: [], matches: new Map(), failed: 0, running: false, stopped: false, searched: 0, of: 0 };
    let masks, done, where, trial, turn = 0;

    const take = (row, kind, text, all) => {
      const lower = text.toLowerCase();
      let bits = 0;
      search.terms.forEach((term, i) => { if (lower.includes(term)) bits |= 1 << i; });
      if (!bits) return;
      masks[row] |= bits;
      const known = search.matches.get(row);
      const found = known || { full: false, ...snippet(text, lower, search.terms.find((_, i) => bits & 1 << i), kind) };
      found.full = masks[row] === all;
      if (!known) search.matches.set(row, found);
    };
    const scan = (shard, entries) => {
      const all = 2 ** search.terms.length - 1;
      entries.forEach((entry, i) => {
        const row = shard.first + i;
        if (shard.kind === "inputs") entry.forEach((text, j) => take(row, j ? "reference" : "input", text, all));
        else {
          for (const [of, text, reasoning] of entry) {
            if (trial !== "" && of !== Number(trial)) continue;
            take(row, "completion", text, all);
            if (reasoning) take(row, "reasoning", reasoning, all);
          }
        }
      });
    };
    const measure = (needed) => {
      let rows = 0, end = 0, parts = 0, read = 0;
      for (const shard of needed) {
        rows += Math.max(0, shard.end - Math.max(end, shard.first));
        end = Math.max(end, shard.end);
        parts += shard.end - shard.first;
        if (done.has(shard)) read += shard.end - shard.first;
      }
      search.of = rows;
      search.searched = parts ? Math.round(rows * read / parts) : rows;
    };

    const kinds = (place) => Object.entries(index.texts).filter(([kind]) => !place || NAMES[kind] === place);
    search.bytes = (place) => kinds(place).reduce((sum, [, part]) => sum + part.bytes, 0);

    // Says what to search for; what is known of another search is forgotten.
    search.ask = (text, place, ofTrial) => {
      const key = [text, place, ofTrial].join("\0");
      if (key === search.key) return;
      turn += 1;
      Object.assign(search, { key, terms: termsOf(text), matches: new Map(), failed: 0, running: false, stopped: false, searched: 0, of: 0 });
      [where, trial] = [place, ofTrial];
      masks = new Int32Array(index.rows);
      done = new Set();
    };
    search.has = (row) => {
      const found = search.matches.get(row);
      return Boolean(found && found.full);
    };
    // What is known, to be taken along to another page; words around it are not.
    search.memory = () => ({
      rows: [...search.matches].flatMap(([row, found]) => (found.full ? [row] : [])),
      done: shards.flatMap((shard, i) => (done.has(shard) ? [i] : [])),
    });
    search.remember = (memory) => {
      memory.rows.forEach((row) => search.matches.set(row, { full: true }));
      memory.done.forEach((i) => done.add(shards[i]));
    };
    search.stop = () => {
      turn += 1;
      Object.assign(search, { running: false, stopped: true });
      tell();
    };
    // Searches the shards in which `wanted(row)` holds for a row, as far as it is not done.
    search.run = async (wanted) => {
      const needed = shards.filter((shard) => {
        if (!shard.name || (where && NAMES[shard.kind] !== where)) return false;
        for (let row = shard.first; row < shard.end; row += 1) if (wanted(row)) return true;
        return false;
      });
      measure(needed);
      const todo = needed.filter((shard) => !done.has(shard));
      turn += 1;
      search.running = todo.length > 0 && search.terms.length > 0;
      Object.assign(search, { stopped: false, failed: 0 });
      if (!search.running) return;
      const mine = turn;
      let told = performance.now(), at = 0;
      const work = async () => {
        while (at < todo.length) {
          const shard = todo[at];
          at += 1;
          const entries = await load(shard.name);
          if (turn !== mine) return;
          if (entries) {
            scan(shard, entries);
            done.add(shard);
          } else search.failed += 1;
          measure(needed);
          if (performance.now() - told > 250) {
            tell();
            await new Promise((resolve) => { setTimeout(resolve); });
            if (turn !== mine) return;
            told = performance.now();
          }
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      if (turn !== mine) return;
      search.running = false;
      tell();
    };
    return search;
  };

  // ---- The words on a page of instances: marked without a change of the document.
  const markWords = (terms) => {
    if (!globalThis.CSS || !CSS.highlights) return [];
    CSS.highlights.delete("found");
    if (!terms.length) return [];
    const wanted = [...new Set(terms.flatMap((t) => [t, t.normalize("NFD")]))];
    const ranges = [];
    for (const element of document.querySelectorAll("#articles pre:not(.prompt > pre), #articles bdi")) {
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node && ranges.length < 5000; node = walker.nextNode()) {
        const lower = node.data.toLowerCase();
        if (lower.length !== node.data.length) continue;
        for (const term of wanted) {
          for (let i = lower.indexOf(term); i >= 0; i = lower.indexOf(term, i + term.length)) {
            const range = new Range();
            range.setStart(node, i);
            range.setEnd(node, i + term.length);
            ranges.push(range);
          }
        }
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
    return ranges;
  };
  Object.assign(helmsite, { textSearch, termsOf, markWords });
})();
