// Draws every figure of a page in the reader's look, stacks panels on narrow screens, and turns to the
// light look for print. Figures that arrive later through htmx are drawn too; after the first two, those far below the
// fold wait until the reader comes near them. Plotly stands before this script.
(() => {
  "use strict";
  const NARROW = 620;
  const AT_ONCE = 2;
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const { templates, config } = read("pydplib-look");
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const specs = new Map();
  const drawnAs = new WeakMap();
  const near = new WeakSet();
  let printing = false;

  const isPlain = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const merge = (into, from) => {
    for (const [key, value] of Object.entries(from)) {
      into[key] = isPlain(value) && isPlain(into[key]) ? merge(into[key], value) : value;
    }
    return into;
  };
  const look = () => {
    if (printing) return "light";
    return root.dataset.theme || (system.matches ? "dark" : "light");
  };

  const draw = (place) => {
    // A figure in a closed fold has no width yet; it is drawn when the fold opens.
    if (!place.clientWidth) return;
    const id = place.dataset.figure;
    if (!drawnAs.has(place)) specs.set(id, read(id));
    const narrow = place.clientWidth < NARROW;
    const width = place.clientWidth;
    const key = `${look()} ${narrow}`;
    const before = drawnAs.get(place);
    if (before && before.key === key) {
      if (before.width !== width) {
        before.width = width;
        window.Plotly.Plots.resize(place);
      }
      return;
    }
    drawnAs.set(place, { key, width });
    const spec = structuredClone(specs.get(id));
    const layout = spec.layout || {};
    if (narrow && layout.meta && layout.meta.narrow) merge(layout, structuredClone(layout.meta.narrow));
    // Nothing stands above the drawing: no room is kept for it.
    const alone = layout.showlegend === false || (layout.showlegend === undefined && spec.data.length < 2);
    if (alone && !(layout.annotations || []).length) layout.margin = { t: 12, ...layout.margin };
    layout.template = templates[look()];
    layout.autosize = true;
    place.style.minHeight = `${layout.height || 420}px`;
    // Sizes are followed here: Plotly itself would squeeze a wide layout into a narrow place before the narrow one comes.
    window.Plotly.react(place, spec.data, layout, window.pydplibPictures.configFor(place, { ...config, responsive: false }));
  };
  const coming = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      coming.unobserve(entry.target);
      near.add(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "600px 0px" });
  const drawAll = () => document.querySelectorAll("[data-figure]").forEach((place, number) => {
    if (printing || number < AT_ONCE || near.has(place)) draw(place);
    else coming.observe(place);
  });

  drawAll();
  document.addEventListener("pydplib:theme", drawAll);
  document.addEventListener("htmx:afterSettle", drawAll);
  document.addEventListener("toggle", drawAll, true);
  window.addEventListener("resize", drawAll);
  window.addEventListener("beforeprint", () => { printing = true; drawAll(); });
  window.addEventListener("afterprint", () => { printing = false; drawAll(); });
})();
