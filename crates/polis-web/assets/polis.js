// What a page does beside htmx: it hears of changes, has keys, and lets notices be closed.
// Nothing is decided here; every deed is a form or a link of the page.
"use strict";
(() => {
  const { body } = document;
  const all = (which, within = document) => [...within.querySelectorAll(which)];
  const fire = (name, detail) => body.dispatchEvent(new CustomEvent(name, { detail, bubbles: false }));

  // Changes: one stream for a tab that is looked at, none for one that is not.
  // Browsers keep few connections to a place, and a hidden page needs none.
  const names = (body.dataset.live || "").split(",").filter(Boolean);
  let stream = null;
  let missed = false;
  // The first stream begins at the place in the log the page was drawn at. Later ones begin where the log
  // is then, and everything is fetched again: a part may have asked in vain meanwhile.
  const place = body.dataset.place ? `&after=${body.dataset.place}` : "";
  let again = 0;
  // A connection that is back at once is not worth a word.
  const offline = document.getElementById("offline");
  let telling = 0;
  const tellLost = (lost) => {
    if (!lost) { clearTimeout(telling); telling = 0; if (offline) offline.textContent = ""; return; }
    telling ||= setTimeout(() => { if (offline) offline.textContent = offline.dataset.says; }, 1500);
  };
  const pulse = (state) => {
    body.dataset.liveIs = state === "on" ? "open" : "closed";
    tellLost(state === "off");
    for (const dot of all(".pulse")) {
      dot.dataset.live = state;
      dot.title = dot.getAttribute(`data-${state}`) || "";
    }
  };
  // A slash would open a quotation in htmx' triggers.
  const dom = (name) => `polis:${name.replaceAll('/', ':')}`;
  const fireAll = () => names.forEach((name) => fire(dom(name), { seq: null }));
  const listen = () => {
    if (!names.length || stream || document.hidden) return;
    stream = new EventSource(`/live?about=${encodeURIComponent(names.join(","))}${missed ? "" : place}`);
    stream.addEventListener("open", () => {
      pulse("on");
      again = 0;
      if (missed) fireAll();
      missed = true;
    });
    stream.addEventListener("end", (event) => {
      leave();
      // A session that has ended is shown the door; a server that stops is asked again.
      if (event.data === "access") location.reload();
      else { pulse("off"); later(); }
    });
    stream.addEventListener("error", () => {
      pulse("off");
      if (stream && stream.readyState === EventSource.CLOSED) { leave(); later(); }
    });
    for (const name of names) {
      stream.addEventListener(name, (event) => fire(dom(name), { seq: Number(event.data) }));
    }
  };
  const leave = () => { if (stream) { stream.close(); stream = null; body.dataset.liveIs = "closed"; } };
  const rest = () => { leave(); tellLost(false); };
  const later = () => setTimeout(listen, Math.min(1000 * 2 ** again++, 15000));
  document.addEventListener("visibilitychange", () => (document.hidden ? rest() : listen()));
  addEventListener("pagehide", rest);
  addEventListener("pageshow", listen);
  listen();

  // Moments are written in UTC by the server, and shown in the reader's own time.
  const two = (n) => String(n).padStart(2, "0");
  const tell = (within) => {
    for (const time of all("time[datetime]", within)) {
      const moment = new Date(time.dateTime);
      if (isNaN(moment)) continue;
      time.title = moment.toLocaleString(document.documentElement.lang);
      if (time.matches(".clock")) {
        time.textContent = [moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(":");
      }
    }
    // Output that grows is followed, unless somebody scrolled up in it.
    for (const tail of all("[data-tail]", within)) if (!tail.held) tail.scrollTop = tail.scrollHeight;
  };
  tell(document);
  body.addEventListener("htmx:afterSettle", () => tell(document));
  document.addEventListener("scroll", ({ target: at }) => {
    if (at.dataset && "tail" in at.dataset) at.held = at.scrollHeight - at.scrollTop - at.clientHeight > 24;
  }, true);

  // A field in which somebody has begun to write is left alone when its part is fetched again; all around it,
  // such as the version its form was made from, is as new as the page. What was unfolded stays so.
  document.addEventListener("input", ({ target: at }) => { if (at.form) at.begun = true; });
  body.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const form = detail.requestConfig?.elt?.closest("form");
    if (form && detail.xhr.status < 300) for (const field of form.elements) field.begun = false;
  });
  if (window.Idiomorph) {
    Object.assign(Idiomorph.defaults.callbacks, {
      beforeNodeMorphed: (was, now) => !(was.begun && was.name === now.name),
      // A row that was gone to by key can have the focus; it keeps it.
      beforeAttributeUpdated: (name, at, how) =>
        !(name === "open" && at.matches("details, dialog")) && !(name === "tabindex" && how === "remove"),
    });
  }

  // Notices.
  const notices = document.getElementById("notices");
  const notify = (id) => {
    const text = document.getElementById(id);
    if (text && !notices.querySelector(`[data-of=${id}]`)) {
      notices.append(text.content.cloneNode(true));
      notices.lastElementChild.dataset.of = id;
    }
  };
  body.addEventListener("htmx:sendError", () => notify("lost"));
  new MutationObserver(() => {
    // The same refusal again takes the place of the one before.
    const seen = new Set();
    for (const one of [...notices.children].reverse()) {
      const what = `${one.dataset.code || ""} ${one.textContent}`;
      if (seen.has(what)) one.remove();
      seen.add(what);
    }
    while (notices.childElementCount > 4) notices.firstElementChild.remove();
  }).observe(notices, { childList: true });
  document.addEventListener("click", (event) => {
    const close = event.target.closest("[data-close]");
    if (close) close.closest(".notice")?.remove();
    if (close) close.closest("dialog")?.close();
    for (const menu of all("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("submit", (event) => {
    const asked = event.submitter?.dataset.confirm || event.target.dataset.confirm;
    if (asked && !confirm(asked)) event.preventDefault();
  }, true);

  // What was just sent is not sent a second time by an impatient finger. An answer, or some seconds without
  // one, set a form free again.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.method !== "post") return;
    if (Date.now() - (form.sentAt || 0) < 5000) { event.preventDefault(); event.stopImmediatePropagation(); return; }
    form.sentAt = Date.now();
  }, true);
  const free = (form) => { if (form) form.sentAt = 0; };
  body.addEventListener("htmx:afterRequest", ({ detail }) => free(detail.elt?.closest("form")));
  addEventListener("pageshow", () => [...document.forms].forEach(free));

  // In a narrow window the bar may hide the tab one is at.
  document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  // A form that a link from the terminal leads to sends itself; what only looks at the link does not.
  document.querySelector("form[data-auto]")?.requestSubmit();

  // Keys.
  const help = document.getElementById("help");
  const typing = (at) => at.isContentEditable || at.matches("input:not([type=range]), textarea, select");
  const seen = (item) => item.offsetParent !== null;
  const step = (by) => {
    const items = all("[data-row]").filter(seen);
    const at = items.indexOf(document.activeElement.closest("[data-row]"));
    return items[at < 0 ? (by > 0 ? 0 : items.length - 1) : at + by];
  };
  const across = (by) => {
    const columns = all("[data-column]").filter(seen);
    const here = document.activeElement.closest("[data-column]");
    let at = here ? columns.indexOf(here) + by : 0;
    const row = here ? all("[data-row]", here).indexOf(document.activeElement.closest("[data-row]")) : 0;
    for (; columns[at]; at += by) {
      const items = all("[data-row]", columns[at]);
      if (items.length) return items[Math.min(Math.max(row, 0), items.length - 1)];
    }
  };
  const go = (item) => {
    if (!item) return;
    if (!item.hasAttribute("tabindex")) item.tabIndex = -1;
    item.focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  let before = "";
  const deeds = {
    "?": () => help?.showModal(),
    "/": () => (document.querySelector("[data-filter], input[type=search]"))?.focus(),
    j: () => go(step(1)), k: () => go(step(-1)), h: () => go(across(-1)), l: () => go(across(1)),
    Enter: () => {
      const row = document.activeElement;
      if (row.matches("[data-row]")) (row.matches("a") ? row : row.querySelector("a[href]"))?.click();
      return row.matches("[data-row]");
    },
    Escape: () => {
      for (const menu of all("details.menu[open]")) menu.open = false;
      notices.lastElementChild?.remove();
    },
  };
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    if (typing(target)) { if (key === "Escape") target.blur(); return; }
    if (help?.open && key !== "Escape") return;
    const tab = before === "g" && all("nav a[data-key]").find((one) => one.dataset.key === key);
    before = before === "g" ? "" : key;
    if (tab) { event.preventDefault(); tab.click(); return; }
    const deed = deeds[key];
    if (deed && deed() !== false && key !== "Escape") event.preventDefault();
  });
})();
