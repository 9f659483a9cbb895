// Draws the figures of a page in the site's look, and again when the reader changes it. Plotly and the looks are
// loaded only where there is a figure.
(() => {
  "use strict";
  const places = [...document.querySelectorAll("[data-figure]")];
  if (!places.length) return;
  const own = document.currentScript.src;
  const load = (name) =>
    new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = new URL(`../assets/figures/${name}`, own).href;
      script.onload = done;
      script.onerror = failed;
      document.head.append(script);
    });
  const NARROW = 620;
  const plain = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const merge = (into, from) => {
    for (const [key, value] of Object.entries(from)) {
      into[key] = plain(value) && plain(into[key]) ? merge(into[key], value) : value;
    }
    return into;
  };
  const draw = () => {
    const dark = document.body.dataset.mdColorScheme === "slate";
    const { templates, config } = window.pydplibLook;
    for (const place of places) {
      const { data, layout } = JSON.parse(document.getElementById(place.dataset.figure).textContent);
      if (place.clientWidth < NARROW && layout.meta && layout.meta.narrow) merge(layout, layout.meta.narrow);
      layout.template = structuredClone(templates[dark ? "dark" : "light"]);
      layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
      layout.autosize = true;
      place.style.minHeight = `${layout.height || 420}px`;
      window.Plotly.react(place, data, layout, config);
    }
  };
  Promise.all([load("plotly.min.js"), load("look.js")]).then(() => {
    draw();
    new MutationObserver(draw).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
    let width = window.innerWidth;
    window.addEventListener("resize", () => {
      if (window.innerWidth !== width) draw();
      width = window.innerWidth;
    });
  });
})();
