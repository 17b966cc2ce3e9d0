// Boards that come in parts.
"use strict";
(() => {
  // A link to a heading in a part that is not here yet leads to the page with that part, which the
  // table of contents knows.
  const named = (link) => { try { return decodeURIComponent(link.hash.slice(1)); } catch { return ""; } };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("article.board a[href^='#']");
    const id = link && named(link);
    if (!id || document.getElementById(id)) return;
    const way = [...document.querySelectorAll("nav.toc a[href*='?part=']")].find((one) => named(one) === id);
    if (way) { event.preventDefault(); location.assign(way.href); }
  });
})();
