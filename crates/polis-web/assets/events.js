// The log: days that begin at the reader's own midnight, and what the slider means.
"use strict";
(() => {
  const two = (n) => String(n).padStart(2, "0");
  const days = () => {
    for (const list of document.querySelectorAll("ol[data-days]")) {
      let day = "";
      for (const item of [...list.children]) {
        const clock = item.querySelector("time.clock");
        // A day of the server's.
        if (!clock) { item.remove(); continue; }
        const moment = new Date(clock.dateTime);
        const its = [moment.getFullYear(), moment.getMonth() + 1, moment.getDate()].map(two).join("-");
        if (isNaN(moment) || its === day) continue;
        const head = document.createElement("li");
        head.id = `d${day = its}`;
        head.append(Object.assign(document.createElement("b"), { className: "day", textContent: day }));
        item.before(head);
      }
    }
  };
  days();
  document.body.addEventListener("htmx:afterSettle", days);

  // What a slider means, for those who hear it.
  document.addEventListener("input", ({ target: at }) => {
    if (at.matches?.("input[type=range][data-says]")) {
      at.setAttribute("aria-valuetext", at.dataset.says.replace("{}", Math.max(at.value - 1, 0)));
    }
  });
})();
