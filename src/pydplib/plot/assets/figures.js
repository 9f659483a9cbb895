// Draws every figure of a page in the reader's look (light or dark), stacks panels on narrow
// screens, and turns to the light look for print. Plotly itself stands before this script.
(() => {
  "use strict";
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const { templates, config } = read("pydplib-look");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const NARROW = 620;
  let printing = false;

  const isPlain = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const merge = (into, from) => {
    for (const [key, value] of Object.entries(from)) {
      into[key] = isPlain(value) && isPlain(into[key]) ? merge(into[key], value) : value;
    }
    return into;
  };

  const figures = [...document.querySelectorAll("[data-figure]")].map((place) => ({
    place,
    spec: read(place.dataset.figure),
    drawnAs: "",
  }));

  const draw = (figure) => {
    const narrow = figure.place.clientWidth < NARROW;
    const mode = dark.matches && !printing ? "dark" : "light";
    const key = `${mode} ${narrow}`;
    if (figure.drawnAs === key) return;
    figure.drawnAs = key;
    const layout = structuredClone(figure.spec.layout);
    const meta = layout.meta || {};
    if (narrow && meta.narrow) merge(layout, structuredClone(meta.narrow));
    layout.template = templates[mode];
    layout.autosize = true;
    figure.place.style.minHeight = `${layout.height || 420}px`;
    window.Plotly.react(figure.place, structuredClone(figure.spec.data), layout, config);
    figure.place.classList.add("is-drawn");
  };
  const drawAll = () => figures.forEach(draw);

  drawAll();
  dark.addEventListener("change", drawAll);
  window.addEventListener("resize", drawAll);
  window.addEventListener("beforeprint", () => {
    printing = true;
    // On paper nobody can unfold a table.
    document.querySelectorAll("details.twin").forEach((twin) => { twin.open = true; });
    drawAll();
  });
  window.addEventListener("afterprint", () => { printing = false; drawAll(); });
})();
