"use strict";
// What tables choose by: a folded list of check boxes, and with it a board's columns, also
// those that stand on other pages of a wide board.
(() => {
  const { make, get, set, fold, stored } = helmsite;

  // `entries` gives {key, text, note}, when the list is opened first; `chosen` holds the
  // keys that are checked; `acts` are buttons that check or clear what is listed.
  helmsite.chooser = ({ label, entries, chosen, changed, acts, note = "" }) => {
    const summary = make("summary", {}, label);
    const panel = make("div", { class: "panel" });
    const element = make("details", { class: "chooser" }, summary, panel);
    const boxes = [];
    const sync = () => { for (const box of boxes) box.checked = chosen.has(box.value); };
    const mark = (box) => { if (box.checked) chosen.add(box.value); else chosen.delete(box.value); };

    const fill = (found) => {
      const list = make("div", { class: "choices", role: "group", "aria-label": label });
      const all = found.map((entry) => fold(`${entry.text} ${entry.note || ""} ${entry.key.replace(/-[0-9a-f]{4}$/, "")}`));
      for (const entry of found) {
        const box = make("input", { type: "checkbox", value: entry.key });
        box.addEventListener("change", () => { mark(box); changed(); });
        boxes.push(box);
        list.append(make("label", {}, box, make("bdi", {}, entry.text), entry.note ? make("small", {}, entry.note) : ""));
      }
      const find = make("input", { type: "search", placeholder: "Find", "aria-label": `Find in the list: ${label}` });
      find.addEventListener("input", () => {
        const words = fold(find.value).split(/\s+/).filter(Boolean);
        boxes.forEach((box, i) => { box.parentNode.hidden = !words.every((word) => all[i].includes(word)); });
      });
      const buttons = make("div", { class: "acts" });
      for (const [name, value] of acts) {
        const button = make("button", { type: "button" }, name);
        button.addEventListener("click", () => {
          for (const box of boxes) if (!box.parentNode.hidden) { box.checked = value; mark(box); }
          changed();
        });
        buttons.append(button);
      }
      panel.replaceChildren(...(found.length > 10 ? [find] : []), buttons, list, note ? make("p", {}, note) : "");
      sync();
    };
    const open = async () => {
      if (!boxes.length) {
        const found = entries();
        if (found instanceof Promise) panel.textContent = "Loading…";
        try { fill(await found); } catch { panel.textContent = "The list could not be loaded."; }
      }
      const right = element.getBoundingClientRect().left + panel.offsetWidth + 12;
      panel.style.left = `${Math.min(0, document.documentElement.clientWidth - right)}px`;
    };
    element.addEventListener("toggle", () => { if (element.open) open(); });
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !element.open) return;
      event.stopPropagation();
      element.open = false;
      summary.focus();
    });
    const leave = (event) => { if (!element.contains(event.target)) element.open = false; };
    document.addEventListener("pointerdown", leave);
    document.addEventListener("focusin", leave);
    const tell = (text, on) => { summary.textContent = text; element.classList.toggle("on", on); };
    return { element, sync, tell };
  };

  // The columns of a board. `adopt` is told of a head that comes from another page,
  // `changed` when other columns are shown.
  helmsite.columns = ({ table, order, key, title, adopt, changed }) => {
    const top = table.tHead.rows[0];
    const fixed = Number(table.dataset.fixed || Infinity);
    const own = [...top.cells].slice(fixed);
    const { store } = table.dataset;
    if (own.length < 3 && !store) return null;
    const entry = (head) => ({ key: head.dataset.k, head, text: title(head), note: head.dataset.m && head.dataset.m !== title(head) ? head.dataset.m : "" });
    const here = own.map((head) => head.dataset.k);
    const shown = new Set(here);
    let known = own.map(entry);
    let whole = store ? null : Promise.resolve(known);

    // The heads of all pages of the board, those of this page as they are.
    const everything = () => {
      whole ||= stored(`${store}columns.js`).then(({ heads, sizes }) => {
        const box = make("template");
        box.innerHTML = `<table><thead><tr>${heads.join("")}</tr></thead></table>`;
        const others = [...box.content.querySelectorAll("th")];
        const mine = new Map(known.map((one) => [one.key, one]));
        let part = 0, left = sizes[0];
        known = others.map((head) => {
          if (!left) left = sizes[++part];
          const at = sizes[part] - left--;
          return { part: part + 1, at, ...(mine.get(head.dataset.k) || entry(head)) };
        });
        return known;
      });
      return whole;
    };
    const rows = new Map();
    const cells = (part) => {
      if (!rows.has(part)) {
        rows.set(part, stored(`${store}cells-${part}.js`).then((lines) => {
          const box = make("template");
          box.innerHTML = `<table><tbody><tr>${lines.join("</tr><tr>")}</tr></tbody></table>`;
          helmsite.rooted(box.content);
          return [...box.content.querySelectorAll("tr")].map((line) => [...line.cells]);
        }));
      }
      return rows.get(part);
    };
    const attach = (one, lines) => {
      const next = known.slice(known.indexOf(one) + 1).find((other) => other.head.parentNode === top);
      const at = next ? next.head.cellIndex : top.cells.length;
      helmsite.rooted(one.head);
      top.insertBefore(one.head, top.cells[at] || null);
      order.forEach((row, i) => row.insertBefore(lines[i][one.at], row.cells[at] || null));
      adopt(one.head);
    };
    const show = async () => {
      const missing = known.filter((one) => shown.has(one.key) && one.head.parentNode !== top);
      const parts = [...new Set(missing.map((one) => one.part))];
      const loaded = new Map(await Promise.all(parts.map(async (part) => [part, await cells(part)])));
      for (const one of missing) if (shown.has(one.key) && one.head.parentNode !== top) attach(one, loaded.get(one.part));
      for (const one of known) {
        const off = !shown.has(one.key);
        if (one.head.parentNode !== top || one.head.hidden === off) continue;
        const i = one.head.cellIndex;
        one.head.hidden = off;
        for (const row of order) row.cells[i].hidden = off;
      }
      changed();
    };
    const words = () => {
      const total = Number(table.dataset.columns || here.length);
      const other = shown.size !== here.length || here.some((name) => !shown.has(name));
      made.tell(shown.size < total ? `Columns: ${shown.size} of ${total}` : "Columns", other);
    };
    const keep = () => {
      const gone = here.filter((name) => !shown.has(name)).join(" ");
      const more = [...shown].some((name) => !here.includes(name));
      const list = known.filter((one) => shown.has(one.key)).map((one) => one.key).join(" ");
      const cols = more || (gone && list && list.length < gone.length);
      set({ [key("cols")]: cols ? list : "", [key("hide")]: cols ? "" : gone });
    };
    const made = helmsite.chooser({
      label: "Columns",
      entries: everything,
      chosen: shown,
      acts: [["All", true], ["None", false]],
      note: [...top.cells].some((head) => head.dataset.k === "win") ? "A hidden column still counts in the mean win rate." : "",
      changed: () => { words(); keep(); show(); },
    });

    const listed = (name) => get(key(name)).split(" ").filter(Boolean);
    const only = listed("cols");
    const begin = async () => {
      if (only.some((name) => !here.includes(name)) && store) await everything();
      const wanted = only.length ? known.filter((one) => only.includes(one.key)) : known.filter((one) => !listed("hide").includes(one.key));
      if (only.length ? wanted.length : true) {
        shown.clear();
        for (const one of wanted) if (only.length || here.includes(one.key)) shown.add(one.key);
      }
      words();
      await show();
    };
    words();
    return { element: made.element, ready: only.length || listed("hide").length ? begin() : null };
  };
})();
