"use strict";
// What every page uses: state in the address, theme switch, search box, tips, exact text.
const helmsite = (() => {
  const root = document.documentElement.dataset.root;

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children);
    return element;
  };

  // The address holds the state; an empty value leaves no trace.
  const get = (key) => new URLSearchParams(location.search).get(key) || "";
  const all = (key) => new URLSearchParams(location.search).getAll(key).filter(Boolean);
  const set = (changes) => {
    const query = new URLSearchParams(location.search);
    for (const [key, value] of Object.entries(changes)) {
      query.delete(key);
      for (const one of Array.isArray(value) ? value : [value]) if (one) query.append(key, one);
    }
    const text = query.toString();
    try {
      history.replaceState(null, "", location.pathname + (text ? `?${text}` : "") + location.hash);
    } catch { /* some browsers forbid it on file:// */ }
  };

  // Data that a page may need, as a classic script: it calls `store` with its own address.
  const waiting = new Map(), found = new Map();
  const store = (path, data) => waiting.get(path)?.(data);
  const stored = (path) => {
    if (!found.has(path)) {
      found.set(path, new Promise((resolve, reject) => {
        waiting.set(path, resolve);
        const script = make("script", { src: root + path });
        script.addEventListener("error", () => { found.delete(path); reject(new Error(path)); });
        document.head.append(script);
      }));
    }
    return found.get(path);
  };
  // Links of what comes from such data begin at the site's root.
  const rooted = (part) => {
    for (const link of part.querySelectorAll("a[href]")) link.setAttribute("href", root + link.getAttribute("href"));
  };

  // Words are compared without case and marks: "łódź" does not need its marks to be typed.
  const PLAIN = { ł: "l", đ: "d", ø: "o", ß: "ss", æ: "ae", œ: "oe", ı: "i" };
  const fold = (text) => text.toLowerCase().normalize("NFKD").replace(/\p{M}+/gu, "").replace(/[łđøßæœı]/g, (c) => PLAIN[c]);

  // The true text of an element: symbols stand for the characters that they hold.
  // null where a part of it was cut out.
  const exact = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.nodeType !== Node.ELEMENT_NODE) return "";
    if (node.dataset.c) return String.fromCodePoint(parseInt(node.dataset.c, 16));
    if (node.classList.contains("cut")) return null;
    let text = "";
    for (const child of node.childNodes) {
      const part = exact(child);
      if (part === null) return null;
      text += part;
    }
    return text;
  };

  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const put = (event) => {
        event.clipboardData.setData("text/plain", text);
        event.preventDefault();
      };
      document.addEventListener("copy", put, { once: true });
      const done = document.execCommand("copy");
      document.removeEventListener("copy", put);
      return done;
    }
  };

  const theme = (button) => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const chosen = () => document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
    const show = () => {
      const other = chosen() === "dark" ? "light" : "dark";
      button.textContent = other === "dark" ? "Dark" : "Light";
      button.setAttribute("aria-label", `Switch to the ${other} theme`);
    };
    button.addEventListener("click", () => {
      const next = chosen() === "dark" ? "light" : "dark";
      document.documentElement.dataset.theme = next;
      try { localStorage.setItem("helmsite-theme", next); } catch { /* not remembered */ }
      show();
    });
    dark.addEventListener("change", show);
    show();
    button.hidden = false;
  };

  // The search box: a combobox over what static/search-index.js names.
  let index = null;
  const searchable = ({ things, runs }) => {
    const rows = things.map(([kind, title, name, href]) => ({ kind, title, name, href }));
    for (const [model, scenario, inside, id, href] of runs) {
      rows.push({
        kind: "run",
        title: `${things[model][1]} on ${things[scenario][1]}${inside ? ` (${inside})` : ""}`,
        name: id,
        href: href || `runs/${id}/index.html`,
      });
    }
    index = rows;
  };
  const search = (box) => {
    const input = make("input", { type: "search", role: "combobox", placeholder: "Search", "aria-label": "Search models, scenarios, groups and runs", "aria-expanded": "false", "aria-controls": "found", "aria-autocomplete": "list", "aria-keyshortcuts": "/", autocomplete: "off", spellcheck: "false" });
    const list = make("ul", { id: "found", role: "listbox", "aria-label": "Found", hidden: true });
    const told = make("span", { class: "sr", role: "status" });
    box.append(input, list, told);
    let at = -1;
    const links = () => [...list.querySelectorAll("a")];
    const pick = (to) => {
      const all = links();
      at = all.length ? (to + all.length + 1) % (all.length + 1) : -1;
      if (at === all.length) at = -1;
      all.forEach((link, i) => link.setAttribute("aria-selected", String(i === at)));
      if (at < 0) input.removeAttribute("aria-activedescendant");
      else {
        input.setAttribute("aria-activedescendant", all[at].id);
        all[at].scrollIntoView({ block: "nearest" });
      }
    };
    const close = () => {
      list.hidden = true;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    };
    const hits = (words) => {
      const good = [];
      for (const row of index) {
        row.text ??= fold(`${row.title} ${row.name} ${row.kind}`);
        if (!words.every((word) => row.text.includes(word))) continue;
        const title = fold(row.title);
        good.push([row, title === words.join(" ") ? 0 : title.startsWith(words[0]) ? 1 : 2]);
      }
      return good.map(([row, rank], i) => [rank, i, row]).sort(([a, i], [b, j]) => a - b || i - j).map(([, , row]) => row);
    };
    const show = () => {
      const words = fold(input.value).split(/\s+/).filter(Boolean);
      at = -1;
      list.replaceChildren();
      if (!words.length || !index) { close(); told.textContent = ""; return; }
      const found = hits(words);
      // A run id and one more word: an instance of the run.
      const pair = input.value.trim().split(/\s+/);
      const run = pair.length === 2 && !found.length && index.find((row) => row.kind === "run" && row.name === pair[0]);
      if (run) found.push({ ...run, kind: "instance", title: `${pair[1]} of ${run.title}`, href: `${run.href}?id=${encodeURIComponent(pair[1])}` });
      found.slice(0, 12).forEach((row, i) => {
        const note = row.kind === "run" ? `run ${row.name}` : row.kind;
        list.append(make("li", { role: "presentation" }, make("a", { id: `found-${i}`, role: "option", "aria-selected": "false", tabindex: "-1", href: root + row.href }, make("bdi", {}, row.title), " ", make("small", {}, note))));
      });
      const more = found.length > 12 ? `${found.length - 12} more: add a word.` : "";
      if (!found.length || more) list.append(make("li", { class: "none", role: "presentation" }, more || "Nothing found."));
      list.hidden = false;
      input.setAttribute("aria-expanded", "true");
      told.textContent = found.length ? `${found.length} found` : "Nothing found";
    };
    input.addEventListener("focus", () => {
      if (index) return;
      const script = make("script", { src: `${root}static/search-index.js` });
      script.addEventListener("load", show);
      document.head.append(script);
    }, { once: true });
    input.addEventListener("input", show);
    input.addEventListener("click", () => { if (list.hidden && input.value) show(); });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { if (list.hidden) input.value = ""; close(); }
      else if (event.key === "Enter") { const all = links(); if (all.length && !list.hidden) all[Math.max(at, 0)].click(); }
      else if (event.key === "ArrowDown") { if (list.hidden) show(); pick(at + 1); }
      else if (event.key === "ArrowUp") pick(at - 1);
      else return;
      event.preventDefault();
    });
    box.addEventListener("focusout", (event) => { if (!box.contains(event.relatedTarget)) close(); });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (document.getElementById("finder") || event.target.closest?.("input, select, textarea, [contenteditable]")) return;
      event.preventDefault();
      input.focus();
      input.select();
    });
    box.hidden = false;
  };

  // A title is seen on hover; this shows it on focus and on tap too.
  const tips = () => {
    const tip = make("div", { id: "tip", role: "status", hidden: true });
    document.body.append(tip);
    const hide = () => { tip.hidden = true; };
    const show = (element) => {
      tip.textContent = element.title;
      tip.hidden = false;
      const at = element.getBoundingClientRect();
      const width = document.documentElement.clientWidth;
      tip.style.left = `${Math.max(6, Math.min(at.left, width - tip.offsetWidth - 6))}px`;
      const above = at.top - tip.offsetHeight - 6;
      tip.style.top = `${above > 0 ? above : at.bottom + 6}px`;
    };
    document.addEventListener("focusin", (event) => {
      const element = event.target.closest("main [title]");
      if (element && element.matches(":focus-visible, .hole")) show(element); else hide();
    });
    document.addEventListener("click", (event) => {
      const element = event.target.closest(".hole, main span[title]");
      if (element) show(element); else hide();
    });
    document.addEventListener("scroll", hide, { capture: true, passive: true });
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  };

  theme(document.getElementById("theme"));
  search(document.getElementById("search"));
  tips();
  return { make, get, all, set, fold, store, stored, rooted, exact, copy, searchable };
})();
