// Saves a drawn figure as a PNG: made in the reader's browser from the released values, nothing is sent.
(() => {
  "use strict";
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-picture]");
    const place = button && document.querySelector(`[data-figure="${button.dataset.picture}"]`);
    if (!place || !window.Plotly) return;
    window.Plotly.downloadImage(place, { format: "png", scale: 2, width: 960, height: place.clientHeight || 480, filename: button.dataset.name });
  });
})();
