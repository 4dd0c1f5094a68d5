"use strict";
// Instances: exact prompts, token strips, and links to what is folded.
(() => {
  const { make, exact, copy } = helmsite;

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
  Object.assign(helmsite, { shown, pointed });
})();
