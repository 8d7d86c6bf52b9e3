// The zoom of a timeline: makes its axis wider than the page, which scrolls in its own box. Nothing else needs it.

const WIDEST = 16;
const root = document.documentElement;
const tools = document.querySelector("[data-zoom-tools]");

function zoomTo(times) {
  root.dataset.zoom = String(times);
  tools.querySelector("[data-zoom-now]").textContent = `${times} x`;
  for (const button of tools.querySelectorAll("[data-zoom-by]")) {
    const next = times * Number(button.dataset.zoomBy);
    button.setAttribute("aria-disabled", String(next < 1 || next > WIDEST));
  }
}

if (tools) {
  tools.hidden = false;
  zoomTo(1);
  tools.addEventListener("click", ({ target }) => {
    const by = Number(target.closest?.("[data-zoom-by]")?.dataset.zoomBy ?? 1);
    const next = Number(root.dataset.zoom) * by;
    if (next >= 1 && next <= WIDEST) zoomTo(next);
  });
}
