"use strict";
// Buttons that copy: a text on its own, or a hash of which the page shows the beginning.
(() => {
  const { make, exact, copy } = helmsite;
  for (const place of document.querySelectorAll("[data-copy]")) {
    const isText = place.matches("pre");
    const words = isText ? place.dataset.copy : "copy";
    const button = make("button", { type: "button", class: isText ? "copy" : "copyhash" }, words);
    if (!isText) button.setAttribute("aria-label", "Copy the whole hash");
    const status = make("span", { role: "status", class: "sr" });
    button.addEventListener("click", async () => {
      const done = await copy(isText ? exact(place) : place.dataset.copy);
      button.textContent = done ? "copied" : "refused";
      status.textContent = done ? "Copied" : "Copying was refused";
      setTimeout(() => { button.textContent = words; }, 1500);
    });
    if (isText) {
      const box = make("div", { class: "copyline" });
      place.replaceWith(box);
      box.append(place, button, status);
    } else place.after(button, status);
  }
})();
