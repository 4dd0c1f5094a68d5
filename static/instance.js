"use strict";
// Instances: exact prompts, token strips, trials as tabs, links to what is folded.
(() => {
  const { make, get, set, exact, copy } = helmsite;

  const inputOf = (article) => article.querySelector("pre.big, .said.input > pre");
  // What belongs to one completion. One that is the only one has no element of its own.
  const around = (part) => part.closest(".reply, .request, .trial, article > div");
  const answerOf = (part) => {
    const own = around(part).querySelector("pre.out");
    if (own) return own;
    const article = part.closest("article");
    const same = around(part).querySelector(".same");
    return same && !same.querySelector("a") ? article.querySelector("pre.out") : inputOf(article);
  };

  // ---- Long texts scroll by themselves, so the keyboard must reach them.
  const TALL = 20, LONG = 800; // lines and characters that may be too many for their box
  const reach = (text) => {
    const content = text.textContent;
    if (content.length > LONG || content.split("\n", TALL).length === TALL) text.tabIndex = 0;
  };
  document.querySelectorAll("article pre").forEach(reach);

  // ---- Exact prompts: in the place of each link comes the text that it stands for.
  const meant = (link) => {
    if (link.matches(".given")) return answerOf(link);
    const target = document.getElementById(link.hash.slice(1));
    return target && (target.matches("article") ? inputOf(target) : target.querySelector("pre"));
  };
  const fill = (details) => {
    for (const link of details.querySelectorAll("pre a")) {
      const source = link.closest(".cut") ? null : meant(link);
      if (!source) continue;
      const part = make("span", { class: link.matches("[href^='#s']") ? "tinted" : "part" });
      part.append(...source.cloneNode(true).childNodes);
      if (part.textContent.endsWith("\n")) part.classList.add("lines"); // then it may be a block
      for (const mark of part.querySelectorAll("mark")) mark.replaceWith(...mark.childNodes);
      link.replaceWith(part);
    }
  };
  // Messages as they were sent: their other fields are JSON already, and stay as they are.
  const sent = (box) => {
    const parts = [...box.querySelectorAll(":scope > .said:not(.call)")].map((said) => {
      const [role, text, extra] = [".role", "pre:not(.extra)", "pre.extra"].map((s) => said.querySelector(s));
      const [content, more] = [exact(text), extra ? exact(extra) : ""];
      if (content === null || more === null) return null;
      const head = `{"role": ${JSON.stringify(exact(role))}, "content": ${JSON.stringify(content)}`;
      return more ? `${head}, ${more.trim().slice(1)}` : `${head}}`;
    });
    return parts.length && !parts.includes(null) ? `[${parts.join(",\n ")}]` : null;
  };
  const openPrompt = (details) => {
    if (details.dataset.drawn) return;
    details.dataset.drawn = "1";
    fill(details);
    details.querySelectorAll("pre").forEach(reach);
    const own = details.querySelector(":scope > pre");
    const chat = details.matches(".sent");
    const listed = details.querySelector(".said") ? details : details.closest("article").querySelector("div");
    const text = chat ? sent(listed) : own && exact(own);
    if (!text) return;
    const status = make("span", { role: "status", class: "quiet" });
    const button = make("button", { type: "button", class: "copy" }, chat ? "Copy messages as JSON" : "Copy exact prompt");
    button.addEventListener("click", async () => {
      const done = await copy(text);
      status.textContent = done ? ` ${[...text].length.toLocaleString("en")} characters copied` : " Copying was refused";
    });
    details.querySelector("summary").after(button, status);
  };

  // ---- Token strips, drawn when asked for.
  // data-l: two of these digits for each token, in hundredths of a nat; the last is unknown.
  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", RAREST = 4094;
  const BOUNDS = [0.05, 0.2, 0.5, 1, 2, 3, 5, 8];
  const chance = (nats) => {
    const share = 100 * Math.exp(-nats);
    return share >= 1 ? `${share.toFixed(share < 10 ? 1 : 0)} %` : `${share.toPrecision(2)} %`;
  };
  // Characters that act or that nobody sees; the same pattern as CONTROLS in render/text.py.
  const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|(?<![\u00a9\u00ae\u203c\u2049\u2100-\u27ff\u2900-\u2bff\u3030\u303d\u3297\u3299\u{1f000}-\u{1faff}])[\ufe0e\ufe0f](?!\u20e3)|(?<![\u0300-\u1fff\u2100-\ufdff\ufe0f\ufe10-\uffdc\u{10000}-\u{dffff}])[\u200c\u200d]/gu;
  const symbol = (c) => {
    const code = c.codePointAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? "␡" : `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
  };
  // Line feeds and tabs last: their signs must not count as what stands before a character.
  const shown = (text) => text.replace(CONTROLS, symbol).replace(/\n/g, "⏎\n").replace(/\t/g, "⇥");
  const RAW = /^bytes:((?:\\x[0-9a-fA-F]{2})+)$/;
  const face = (text) => {
    if (!text) return "∅";
    const raw = RAW.exec(text);
    if (raw) return raw[1].replace(/\\x/g, " ").trim().toUpperCase();
    return shown(text.trim() ? text : text.replace(/ /g, "␣"));
  };
  const named = (text) => (RAW.test(text) ? `byte ${face(text)}` : `“${face(text).replace(/\n/g, "")}”`);
  const texts = (details) => {
    if (details.dataset.k) return JSON.parse(details.dataset.k);
    const points = Array.from(exact(answerOf(details)) || "");
    const lengths = details.dataset.n.match(/\(\d+\)|./g).map((n) => (n.length > 1 ? Number(n.slice(1, -1)) : parseInt(n, 36)));
    let at = 0;
    return lengths.map((n) => points.slice(at, at += n).join(""));
  };
  const candidates = (packed, tokens) => packed.split(";").map((place, i) => place.split("|").filter(Boolean).map((one) => {
    if (one[0] === "=") return [tokens[i], Number(one.slice(1))];
    const [token, nats] = one.split("~");
    return [token.replace(/%([0-9A-F]{2})/g, (_, code) => String.fromCharCode(parseInt(code, 16))), Number(nats)];
  }));
  const KEYS = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
  const openTokens = (details) => {
    if (details.dataset.drawn) return;
    details.dataset.drawn = "1";
    const nats = details.dataset.l.match(/../g).map((pair) => {
      const number = 64 * DIGITS.indexOf(pair[0]) + DIGITS.indexOf(pair[1]);
      return number > RAREST ? null : number / 100;
    });
    const spelled = texts(details);
    const others = details.dataset.a ? candidates(details.dataset.a, spelled) : [];
    const strip = make("div", { class: "strip", role: "group", "aria-label": "Tokens, coloured by log-probability" });
    const readout = make("p", { class: "readout", role: "status" }, "Point at a token, tap it, or move with the arrow keys.");
    const tokens = spelled.map((text, i) => {
      const value = nats[i];
      const token = document.createElement("span");
      const bin = value === null || value === undefined ? "u" : BOUNDS.filter((b) => value > b).length;
      token.className = `tok t${bin}${RAW.test(text) ? " raw" : ""}`;
      token.setAttribute("role", "button");
      token.tabIndex = i ? -1 : 0;
      token.textContent = face(text);
      return token;
    });
    const places = new Map(tokens.map((token, i) => [token, i]));
    let on = -1;
    const tell = (i) => {
      if (i === on) return;
      if (on >= 0) tokens[on].classList.remove("on");
      on = i;
      tokens[i].classList.add("on");
      const value = nats[i];
      let words = `Token ${i + 1} of ${tokens.length} ${named(spelled[i])}: `;
      words += value === null || value === undefined ? "no log-probability" : `log-probability ${(-value).toFixed(2).replace("-", "−")}${value < RAREST / 100 ? "" : " or less"} (${chance(value)})`;
      const list = (others[i] || []).map(([t, v]) => `${named(t)} ${chance(v / 100)}`);
      readout.textContent = list.length ? `${words}; the model’s candidates: ${list.join(", ")}` : words;
    };
    const index = (event) => {
      const place = places.get(event.target.closest(".tok"));
      return place === undefined ? -1 : place;
    };
    // mousemove: a mouse that rests elsewhere must not undo a tap, as mouseover would.
    for (const kind of ["mousemove", "focusin", "click"]) {
      strip.addEventListener(kind, (event) => { if (index(event) >= 0) tell(index(event)); });
    }
    let stop = 0;
    strip.addEventListener("keydown", (event) => {
      const step = KEYS[event.key];
      if (!step || index(event) < 0) return;
      event.preventDefault();
      event.stopPropagation();
      const to = Math.max(0, Math.min(tokens.length - 1, index(event) + step));
      tokens[stop].tabIndex = -1;
      stop = to;
      tokens[to].tabIndex = 0;
      tokens[to].focus();
    });
    strip.append(...tokens);
    const legend = document.querySelector("main > .scale");
    details.append(...(legend ? [legend.cloneNode(true)] : []), readout, strip);
  };
  document.addEventListener("toggle", (event) => {
    const details = event.target;
    if (!details.open || !details.matches("details")) return;
    if (details.matches(".prompt")) openPrompt(details);
    if (details.matches("[data-l]")) openTokens(details);
  }, true);

  // ---- Trials as tabs: one choice for all instances of a page, kept in the address.
  const boxes = [];
  const choose = (trial) => {
    for (const { tabs, panels, names } of boxes) {
      const at = Math.max(0, names.indexOf(trial));
      tabs.forEach((tab, i) => {
        tab.setAttribute("aria-selected", String(i === at));
        tab.tabIndex = i === at ? 0 : -1;
        panels[i].hidden = i !== at;
      });
    }
  };
  const keep = (tab, name) => {
    const before = tab.getBoundingClientRect().top;
    choose(name);
    scrollBy(0, tab.getBoundingClientRect().top - before); // it stays where it was tapped
    set({ tab: name }); // `trial` is a filter
  };
  const tabbed = (box) => {
    const article = box.closest("article");
    const marks = article.querySelectorAll("header > b[class]");
    const panels = [...box.querySelectorAll(":scope > .trial")];
    const names = panels.map((panel) => panel.querySelector("h3").textContent.replace(/\D+/, ""));
    const list = make("div", { class: "trials", role: "tablist", "aria-label": "Trials" });
    const tabs = panels.map((panel, i) => {
      panel.id = `t${names[i]}-${article.id}`; // no instance's anchor begins so
      const mark = marks[marks.length - panels.length + i];
      const tab = make("button", { type: "button", role: "tab", id: `${panel.id}-tab`, "aria-controls": panel.id }, panel.querySelector("h3").textContent, " ", mark ? mark.cloneNode(true) : "");
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", tab.id);
      tab.addEventListener("click", () => keep(tab, names[i]));
      return tab;
    });
    list.addEventListener("keydown", (event) => {
      const step = KEYS[event.key];
      const at = tabs.indexOf(event.target);
      if (!step || at < 0) return;
      event.preventDefault();
      event.stopPropagation();
      const to = Number.isFinite(step) ? (at + step + tabs.length) % tabs.length : step > 0 ? tabs.length - 1 : 0;
      tabs[to].focus();
      keep(tabs[to], names[to]);
    });
    list.append(...tabs);
    box.prepend(list);
    box.classList.add("tabbed");
    boxes.push({ tabs, panels, names });
  };
  document.querySelectorAll("article > .several").forEach(tabbed);
  choose(get("tab") || get("trial"));
  document.addEventListener("change", (event) => {
    if (event.target.matches("#finder select[name=trial]")) choose(event.target.value);
  });

  // ---- A link to something folded opens it.
  const pointed = () => {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { /* not percent-encoded: taken as it is */ }
    return id && document.getElementById(id);
  };
  const openTarget = () => {
    const target = pointed();
    if (target && target.matches("details")) target.open = true;
    if (target && boxes.length) target.scrollIntoView(); // tabs have moved what is below
  };
  addEventListener("hashchange", openTarget);
  openTarget();
  Object.assign(helmsite, { shown, pointed, showTrial: choose });
})();
