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

  let rows = null;
  const searchable = (found) => { rows = found; };
  const search = (box) => {
    const input = make("input", { type: "search", placeholder: "Search", "aria-label": "Search models, scenarios and runs", autocomplete: "off" });
    const list = make("ul", { hidden: true });
    box.append(input, list);
    const show = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      list.replaceChildren();
      list.hidden = !words.length || !rows;
      if (list.hidden) return;
      const hits = rows.filter((row) => {
        const text = `${row[1]} ${row[2]}`.toLowerCase();
        return words.every((word) => text.includes(word));
      }).slice(0, 12);
      for (const [kind, title, , href] of hits) {
        list.append(make("li", {}, make("a", { href: root + href }, title, " ", make("small", {}, kind))));
      }
      if (!hits.length) list.append(make("li", { class: "none" }, "Nothing found."));
    };
    input.addEventListener("focus", () => {
      if (rows) return;
      const script = make("script", { src: `${root}static/search-index.js` });
      script.addEventListener("load", show);
      document.head.append(script);
    }, { once: true });
    input.addEventListener("input", show);
    box.addEventListener("keydown", (event) => {
      const links = [...list.querySelectorAll("a")];
      const at = links.indexOf(document.activeElement);
      if (event.key === "Escape") { input.value = ""; show(); input.focus(); }
      else if (event.key === "Enter" && at < 0 && links.length) links[0].click();
      else if (event.key === "ArrowDown" && links.length) links[Math.min(at + 1, links.length - 1)].focus();
      else if (event.key === "ArrowUp") (at > 0 ? links[at - 1] : input).focus();
      else return;
      event.preventDefault();
    });
    box.addEventListener("focusout", (event) => {
      if (!box.contains(event.relatedTarget)) list.hidden = true;
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
