// Saves a drawn figure as a PNG, with its title and what is guaranteed: made in the reader's browser from the
// released values, nothing is sent. Always in the light look, for paper and slides.
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

  const save = (button, place) => {
    const { templates } = JSON.parse(document.getElementById("pydplib-look").textContent);
    const spec = JSON.parse(document.getElementById(place.dataset.figure).textContent);
    const title = wrap(button.dataset.title, 90);
    const caption = wrap(place.closest("figure").querySelector("figcaption")?.textContent || "", 132);
    const layout = { ...spec.layout, template: templates.light, width: WIDTH, autosize: false };
    const margin = { l: 70, r: 30, t: 40, b: 70, ...templates.light.layout.margin, ...spec.layout.margin };
    const above = 20 + 24 * title.length;
    const below = 16 + 17 * caption.length;
    layout.margin = { ...margin, t: margin.t + above, b: margin.b + below };
    layout.height = (spec.layout.height || 420) + above + below;
    layout.title = { text: title.join("<br>"), x: 0, xref: "container", y: 1, yanchor: "top", pad: { l: 20, t: 18 } };
    layout.annotations = [...(spec.layout.annotations || []), {
      text: caption.join("<br>"), align: "left", showarrow: false, font: { size: 12 }, xref: "paper", x: 0, xanchor: "left",
      xshift: 20 - margin.l, yref: "paper", y: 0, yanchor: "bottom", yshift: -(margin.b + below - 10),
    }];
    const size = { format: "png", scale: 2, width: WIDTH, height: layout.height, filename: button.dataset.name };
    window.Plotly.downloadImage({ data: spec.data, layout }, size);
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-picture]");
    const place = button && document.querySelector(`[data-figure="${button.dataset.picture}"]`);
    if (place && window.Plotly) save(button, place);
  });
})();
