// Saves a drawn figure as a PNG, with its title and what is guaranteed: made in the reader's browser from the
// released values, nothing is sent. Always in the light look, for paper and slides. The button above every figure does
// it, instead of Plotly's own, which leaves the words out; so does any element with data-picture="id of the figure".
(() => {
  "use strict";
  const WIDTH = 960;
  const plain = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const wrap = (text, most) => {
    const lines = [""];
    for (const word of text.trim().split(/\s+/)) {
      const last = lines.length - 1;
      if (lines[last] && lines[last].length + word.length >= most) lines.push(word);
      else lines[last] += (lines[last] ? " " : "") + word;
    }
    return lines.map(plain);
  };
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  // What the page says about a figure; else what the figure says itself.
  const wordsOf = (place, meta) => {
    const around = place.closest("figure");
    const caption = around && around.querySelector("figcaption");
    const lines = caption ? [...caption.querySelectorAll("p")].map((line) => line.textContent) : [];
    const heading = around && around.querySelector("h1, h2, h3, h4");
    return {
      title: (heading && heading.textContent) || meta.title || "",
      caption: lines.length ? lines : (caption ? caption.textContent : meta.caption || "").split("\n"),
    };
  };

  const save = (place, named = {}) => {
    const { templates } = read("pydplib-look");
    const spec = read(place.dataset.figure);
    const words = wordsOf(place, spec.layout.meta || {});
    const title = wrap(named.title || words.title, 90).filter(Boolean);
    const caption = words.caption.flatMap((line) => wrap(line, 132)).filter(Boolean);
    const layout = { ...spec.layout, template: templates.light, width: WIDTH, autosize: false };
    const margin = { l: 70, r: 30, t: 40, b: 70, ...templates.light.layout.margin, ...spec.layout.margin };
    const above = title.length ? 20 + 24 * title.length : 0;
    const below = caption.length ? 16 + 17 * caption.length : 0;
    layout.margin = { ...margin, t: margin.t + above, b: margin.b + below };
    layout.height = (spec.layout.height || 420) + above + below;
    layout.title = { text: title.join("<br>"), x: 0, xref: "container", y: 1, yanchor: "top", pad: { l: 20, t: 18 } };
    layout.annotations = [...(spec.layout.annotations || []), {
      text: caption.join("<br>"), align: "left", showarrow: false, font: { size: 12 }, xref: "paper", x: 0, xanchor: "left",
      xshift: 20 - margin.l, yref: "paper", y: 0, yanchor: "bottom", yshift: -(margin.b + below - 10),
    }];
    const size = { format: "png", scale: 2, width: WIDTH, height: layout.height, filename: named.name || "figure" };
    return window.Plotly.downloadImage({ data: spec.data, layout }, size);
  };

  window.pydplibPictures = {
    save,
    // The settings of a figure, with this button in the place of Plotly's.
    configFor: (place, config) => ({
      ...config,
      modeBarButtonsToRemove: [...(config.modeBarButtonsToRemove || []), "toImage"],
      modeBarButtonsToAdd: [{
        name: "picture",
        title: "Save as a picture, with its words",
        icon: window.Plotly.Icons.camera,
        click: () => save(place),
      }],
    }),
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-picture]");
    const place = button && document.querySelector(`[data-figure="${button.dataset.picture}"]`);
    if (place && window.Plotly) save(place, button.dataset);
  });
})();
