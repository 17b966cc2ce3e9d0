// Events page: groups events by day in the reader's time zone, and describes the slider for screen readers.
"use strict";
(() => {
  const two = (n) => String(n).padStart(2, "0");
  const days = () => {
    for (const list of document.querySelectorAll("ol[data-days]")) {
      let day = "";
      for (const item of [...list.children]) {
        const clock = item.querySelector("time.clock");
        // A day heading from the server, in UTC.
        if (!clock) { item.remove(); continue; }
        const moment = new Date(clock.dateTime);
        const date = [moment.getFullYear(), moment.getMonth() + 1, moment.getDate()].map(two).join("-");
        if (isNaN(moment) || date === day) continue;
        const head = document.createElement("li");
        head.id = `d${day = date}`;
        head.append(Object.assign(document.createElement("b"), { className: "day", textContent: day }));
        item.before(head);
      }
    }
  };
  days();
  document.body.addEventListener("htmx:afterSettle", days);

  // Describe the slider position for screen readers.
  document.addEventListener("input", ({ target: at }) => {
    if (at.matches?.("input[type=range][data-says]")) {
      at.setAttribute("aria-valuetext", at.dataset.says.replace("{}", Math.max(at.value - 1, 0)));
    }
  });
})();
