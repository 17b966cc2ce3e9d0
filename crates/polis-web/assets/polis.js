// Script of every page, in addition to htmx: live updates (SSE), local times, keyboard shortcuts and notices.
// It contains no business rules; every action is a form or a link of the page.
"use strict";
(() => {
  const { body } = document;
  const all = (which, within = document) => [...within.querySelectorAll(which)];
  const fire = (name, detail) => body.dispatchEvent(new CustomEvent(name, { detail, bubbles: false }));

  // Live updates: one event stream per visible browser tab, none for a hidden one. Browsers limit the number of
  // connections per host, and a hidden page needs no updates.
  const names = (body.dataset.live || "").split(",").filter(Boolean);
  let stream = null;
  let missed = false;
  // The first stream starts at the log position at which the page was rendered. Later ones start at the current end
  // of the log, and everything is fetched again, because requests may have failed in between.
  const afterParam = body.dataset.place ? `&after=${body.dataset.place}` : "";
  let attempts = 0;
  // Report a lost connection only if it does not come back within 1.5 seconds.
  const offline = document.getElementById("offline");
  let offlineTimer = 0;
  const showOffline = (lost) => {
    if (!lost) { clearTimeout(offlineTimer); offlineTimer = 0; if (offline) offline.textContent = ""; return; }
    offlineTimer ||= setTimeout(() => { if (offline) offline.textContent = offline.dataset.says; }, 1500);
  };
  const pulse = (state) => {
    body.dataset.liveIs = state === "on" ? "open" : "closed";
    showOffline(state === "off");
    for (const dot of all(".pulse")) {
      dot.dataset.live = state;
      dot.title = dot.getAttribute(`data-${state}`) || "";
    }
  };
  // In htmx triggers a slash would start a quotation, so names use colons.
  const dom = (name) => `polis:${name.replaceAll('/', ':')}`;
  const fireAll = () => names.forEach((name) => fire(dom(name), { seq: null }));
  const listen = () => {
    if (!names.length || stream || document.hidden) return;
    stream = new EventSource(`/live?about=${encodeURIComponent(names.join(","))}${missed ? "" : afterParam}`);
    stream.addEventListener("open", () => {
      pulse("on");
      attempts = 0;
      if (missed) fireAll();
      missed = true;
    });
    stream.addEventListener("end", (event) => {
      disconnect();
      // If the session has ended, reload, which redirects to the login page. If the server shuts down, reconnect.
      if (event.data === "access") location.reload();
      else { pulse("off"); reconnect(); }
    });
    stream.addEventListener("error", () => {
      pulse("off");
      if (stream && stream.readyState === EventSource.CLOSED) { disconnect(); reconnect(); }
    });
    for (const name of names) {
      stream.addEventListener(name, (event) => fire(dom(name), { seq: Number(event.data) }));
    }
  };
  const disconnect = () => { if (stream) { stream.close(); stream = null; body.dataset.liveIs = "closed"; } };
  const pause = () => { disconnect(); showOffline(false); };
  const reconnect = () => setTimeout(listen, Math.min(1000 * 2 ** attempts++, 15000));
  document.addEventListener("visibilitychange", () => (document.hidden ? pause() : listen()));
  addEventListener("pagehide", pause);
  addEventListener("pageshow", listen);
  listen();

  // The server sends times in UTC; show them in the reader's time zone.
  const two = (n) => String(n).padStart(2, "0");
  const updateTimes = (within) => {
    for (const time of all("time[datetime]", within)) {
      const moment = new Date(time.dateTime);
      if (isNaN(moment)) continue;
      time.title = moment.toLocaleString(document.documentElement.lang);
      if (time.matches(".clock")) {
        time.textContent = [moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(":");
      }
    }
    // Scroll growing output to its end, unless the reader has scrolled up.
    for (const tail of all("[data-tail]", within)) if (!tail.held) tail.scrollTop = tail.scrollHeight;
  };
  updateTimes(document);
  body.addEventListener("htmx:afterSettle", () => updateTimes(document));
  document.addEventListener("scroll", ({ target: at }) => {
    if (at.dataset && "tail" in at.dataset) at.held = at.scrollHeight - at.scrollTop - at.clientHeight > 24;
  }, true);

  // When a fragment is refreshed, a field in which the reader has started to type is kept. Everything around it, such
  // as the version in its form, is updated. Expanded elements stay expanded.
  document.addEventListener("input", ({ target: at }) => { if (at.form) at.begun = true; });
  body.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const form = detail.requestConfig?.elt?.closest("form");
    if (form && detail.xhr.status < 300) for (const field of form.elements) field.begun = false;
  });
  if (window.Idiomorph) {
    Object.assign(Idiomorph.defaults.callbacks, {
      beforeNodeMorphed: (was, now) => !(was.begun && was.name === now.name),
      // A row selected by keyboard keeps its focus.
      beforeAttributeUpdated: (name, at, how) =>
        !(name === "open" && at.matches("details, dialog")) && !(name === "tabindex" && how === "remove"),
    });
  }

  // Notices: error messages above the page.
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
    // A repeated error replaces the earlier notice.
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
    const question = event.submitter?.dataset.confirm || event.target.dataset.confirm;
    if (question && !confirm(question)) event.preventDefault();
  }, true);

  // Ignore a second submission of a form (double click) until its response arrives, or for 5 seconds.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.method !== "post") return;
    if (Date.now() - (form.sentAt || 0) < 5000) { event.preventDefault(); event.stopImmediatePropagation(); return; }
    form.sentAt = Date.now();
  }, true);
  const free = (form) => { if (form) form.sentAt = 0; };
  body.addEventListener("htmx:afterRequest", ({ detail }) => free(detail.elt?.closest("form")));
  addEventListener("pageshow", () => [...document.forms].forEach(free));

  // In a narrow window, scroll the active tab into view.
  document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  // Submit the form of a sign-in link automatically. Merely fetching the link, as link previews do, does not use it up.
  document.querySelector("form[data-auto]")?.requestSubmit();

  // Keyboard shortcuts.
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
  const shortcuts = {
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
    const shortcut = shortcuts[key];
    if (shortcut && shortcut() !== false && key !== "Escape") event.preventDefault();
  });
})();
