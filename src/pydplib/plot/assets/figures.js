// Draws every figure of a page in the reader's look (light or dark), stacks panels on narrow
// screens, and turns to the light look for print. Plotly itself stands in the page compressed: it is unpacked first.
(async () => {
  "use strict";
  const unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(plain).text();
    document.head.append(script);
  };
  try {
    await unpack(document.getElementById("pydplib-plotly").textContent);
  } catch {
    // A browser from before 2023: the tables below the figures have the same numbers, so they are unfolded.
    document.querySelectorAll("details.twin").forEach((twin) => { twin.open = true; });
    return;
  }
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const { templates, config } = read("pydplib-look");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const NARROW = 620;
  const LEAST = 60;
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
    // A window that is just opening, or a closed fold, has no room yet; the figure is drawn once there is some.
    if (figure.place.clientWidth < LEAST) return;
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
    window.Plotly.react(figure.place, structuredClone(figure.spec.data), layout, window.pydplibPictures.configFor(figure.place, config));
    figure.place.classList.add("is-drawn");
  };
  const drawAll = () => figures.forEach(draw);

  drawAll();
  dark.addEventListener("change", drawAll);
  window.addEventListener("resize", drawAll);
  const widths = new ResizeObserver(drawAll);
  figures.forEach((figure) => widths.observe(figure.place));
  window.addEventListener("beforeprint", () => {
    printing = true;
    // On paper nobody can unfold a table.
    document.querySelectorAll("details.twin").forEach((twin) => { twin.open = true; });
    drawAll();
  });
  window.addEventListener("afterprint", () => { printing = false; drawAll(); });
})();
