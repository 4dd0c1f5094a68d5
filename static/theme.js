"use strict";
// Runs before the page is drawn, so that a remembered theme never flashes.
try {
  const theme = localStorage.getItem("helmsite-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* storage may be forbidden: the system's theme stays */ }
