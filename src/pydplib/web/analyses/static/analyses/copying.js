// Copies a table as word processors take it: with its rules and columns. Where that is not allowed, the file is downloaded.
(() => {
  "use strict";

  const copy = async (button) => {
    const place = button.dataset.copyHtml;
    const status = button.parentElement.querySelector("[data-copy-status]");
    try {
      const answer = await fetch(place);
      if (!answer.ok) throw new Error("refused");
      const html = await answer.text();
      const parts = { "text/html": html, "text/plain": document.querySelector("table.printed").innerText };
      const blobs = Object.fromEntries(Object.entries(parts).map(([type, text]) => [type, new Blob([text], { type })]));
      await navigator.clipboard.write([new ClipboardItem(blobs)]);
      status.textContent = "Copied. Paste it into your document.";
    } catch {
      window.location.assign(place);
      status.textContent = "Downloaded. Open the file with your word processor.";
    }
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy-html]");
    if (button) copy(button);
  });
})();
