"use strict";
// The page is loaded again when its table would be another one, and stays as it is until then.
const shown = `data-state="${document.body.dataset.state}"`;
setInterval(async () => {
  try {
    const response = await fetch("/");
    if (response.ok && !(await response.text()).includes(shown)) location.reload();
  } catch {
    // The server has ended.
  }
}, 3000);
