"use strict";
// Before anything is drawn: the theme chosen earlier, so that the page does not flash.
try {
  const chosen = localStorage.getItem("ckptbench-theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
} catch {
  // Without storage the system's theme is used.
}
