// The look a reader chose (light or dark) is kept in a cookie, so that the server's first paint is right.
// Runs before the page is drawn; error pages, which the server renders without the cookie, get it here.
(() => {
  "use strict";
  const root = document.documentElement;
  root.dataset.script = "";
  const read = () => (document.cookie.match(/(?:^|; )pydplib_theme=(light|dark)/) || [])[1];
  const chosen = read();
  if (chosen) root.dataset.theme = chosen;

  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const shown = () => root.dataset.theme || (system.matches ? "dark" : "light");
  const tell = () => document.dispatchEvent(new CustomEvent("pydplib:theme", { detail: shown() }));
  system.addEventListener("change", tell);

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-switch]")) return;
    const next = shown() === "dark" ? "light" : "dark";
    root.dataset.theme = next;
    const secure = window.location.protocol === "https:" ? "; Secure" : "";
    document.cookie = `pydplib_theme=${next}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
    tell();
  });
})();
