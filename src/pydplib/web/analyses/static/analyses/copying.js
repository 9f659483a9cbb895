// Copies a table as word processors take it: with its rules and columns. Where that is not allowed, the file is downloaded.
(() => {
  "use strict";

  // By the copy event: what is written to the clipboard in another way loses its rules and columns.
  const put = (parts) => {
    const give = (event) => {
      Object.entries(parts).forEach(([type, text]) => event.clipboardData.setData(type, text));
      event.preventDefault();
    };
    document.addEventListener("copy", give, { once: true });
    const done = document.execCommand("copy");
    document.removeEventListener("copy", give);
    return done;
  };

  const copy = async (button) => {
    const place = button.dataset.copyHtml;
    const status = button.parentElement.querySelector("[data-copy-status]");
    try {
      const answer = await fetch(place);
      if (!answer.ok) throw new Error("refused");
      const html = await answer.text();
      const parts = { "text/html": html, "text/plain": document.querySelector("table.printed").innerText };
      if (!put(parts)) throw new Error("not allowed");
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
