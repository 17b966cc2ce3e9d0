// Moves tasks between the columns of the task board, by drag and drop and with the keys [ and ].
// The server decides whether a task may be moved, and explains a refusal in a notice.
(() => {
  const columns = () => [...document.querySelectorAll("#board [data-column]")];
  const columnOf = (at) => at.closest("#board [data-column]");
  const move = async (card, column) => {
    if (!column || column === columnOf(card)) return;
    const { task, version } = card.dataset;
    const query = document.getElementById("board").dataset.query;
    try {
      await htmx.ajax("POST", `/tasks/${task}/move`, {
        source: card, target: "#board", swap: "morph:outerHTML",
        values: { to: column.dataset.column, version, query },
      });
    } catch {
      // The server could not be reached; polis.js shows a notice for every failed request.
      return;
    }
    const moved = document.getElementById(`task-${task}`);
    if (moved) { moved.focus({ preventScroll: true }); moved.scrollIntoView({ block: "nearest", inline: "nearest" }); }
  };

  let dragged = null;
  const over = (column) => { for (const one of columns()) one.classList.toggle("over", one === column); };
  document.addEventListener("dragstart", (event) => {
    const card = event.target.closest?.("[data-task]");
    if (!card) return;
    dragged = card.id;
    event.dataTransfer.setData("text/plain", `#${card.dataset.task}`);
    event.dataTransfer.effectAllowed = "move";
    card.classList.add("going");
  });
  document.addEventListener("dragover", (event) => {
    const column = dragged && columnOf(event.target);
    if (!column) return;
    event.preventDefault();
    over(column);
  });
  document.addEventListener("drop", (event) => {
    const column = dragged && columnOf(event.target);
    const card = dragged && document.getElementById(dragged);
    if (!column || !card) return;
    event.preventDefault();
    move(card, column);
  });
  document.addEventListener("dragend", () => {
    document.getElementById(dragged)?.classList.remove("going");
    dragged = null;
    over(null);
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !"[]".includes(event.key)) return;
    if (event.target.matches("input, textarea, select")) return;
    const card = document.activeElement?.closest("[data-task]");
    if (!card?.draggable) return;
    event.preventDefault();
    const all = columns();
    move(card, all[all.indexOf(columnOf(card)) + (event.key === "]" ? 1 : -1)]);
  });
})();
