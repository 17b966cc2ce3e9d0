// Links within boards that are loaded in parts.
"use strict";
(() => {
  // A link to a heading in a part that is not loaded yet opens the page with that part, whose URL is in the table of
  // contents.
  const fragment = (link) => { try { return decodeURIComponent(link.hash.slice(1)); } catch { return ""; } };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("article.board a[href^='#']");
    const id = link && fragment(link);
    if (!id || document.getElementById(id)) return;
    const entry = [...document.querySelectorAll("nav.toc a[href*='?part=']")].find((one) => fragment(one) === id);
    if (entry) { event.preventDefault(); location.assign(entry.href); }
  });
})();
