// Small helps that pages also work without: dialogs that keep the focus, copying, and the way to an error.
(() => {
  "use strict";

  // On a phone the tab of this page may lie beyond the edge: it comes into sight.
  for (const tabs of document.querySelectorAll(".tabs")) {
    const here = tabs.querySelector("[aria-current]");
    if (here) tabs.scrollLeft = here.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - here.offsetWidth) / 2;
  }

  // Dialogs are popovers without script; with it they are modal: the rest of the page is out of reach.
  const open = (dialog) => {
    dialog.removeAttribute("popover");
    if (!dialog.open) dialog.showModal();
  };
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-dialog]");
    if (opener) {
      const dialog = document.getElementById(opener.dataset.dialog);
      if (dialog instanceof HTMLDialogElement) {
        event.preventDefault();
        open(dialog);
      }
      return;
    }
    const closer = event.target.closest("[data-dialog-close]");
    if (closer) {
      event.preventDefault();
      closer.closest("dialog")?.close();
      return;
    }
    const copier = event.target.closest("[data-copy]");
    if (copier) copy(copier);
    // A press on the veil closes, as Escape does.
    if (event.target instanceof HTMLDialogElement && event.target.open) {
      const box = event.target.getBoundingClientRect();
      const inside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
      if (!inside) event.target.close();
    }
  });

  const copy = async (button) => {
    const source = document.getElementById(button.dataset.copy);
    if (!source) return;
    const text = "value" in source ? source.value : source.innerText;
    const status = button.nextElementSibling?.matches("[data-copy-status]") ? button.nextElementSibling : null;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without permission (or on plain http) the text is marked, ready for Ctrl+C.
      const range = document.createRange();
      range.selectNodeContents(source);
      const selection = window.getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      if (status) status.textContent = "Selected; use Ctrl+C to copy.";
      return;
    }
    button.classList.add("copied");
    if (status) status.textContent = "Copied";
    window.setTimeout(() => {
      button.classList.remove("copied");
      if (status) status.textContent = "";
    }, 2000);
  };

  // After a refused form the reader starts at what is wrong.
  const focusSummary = (within) => within.querySelector?.("[data-focus]")?.focus();
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-print]")) window.print();
    const link = event.target.closest(".error-summary a[href^='#']");
    const target = link && document.getElementById(link.hash.slice(1));
    if (!target) return;
    event.preventDefault();
    const control = target.matches("input, select, textarea, button") ? target : target.querySelector("input, select, textarea") || target;
    control.focus();
    control.scrollIntoView({ block: "center" });
  });
  focusSummary(document);
  document.addEventListener("htmx:afterSettle", (event) => focusSummary(event.target));

  // Search: Ctrl and K open it from everywhere, the arrows walk through what was found, Enter opens the first.
  const search = document.getElementById("search");
  if (search instanceof HTMLDialogElement) {
    const words = search.querySelector("input[type=search]");
    const links = () => [...search.querySelectorAll("#search-found a")];
    document.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k") {
        event.preventDefault();
        open(search);
        words.focus();
        words.select();
      }
    });
    search.addEventListener("keydown", (event) => {
      const all = links();
      const at = all.indexOf(document.activeElement);
      if (event.key === "ArrowDown" && at + 1 < all.length) all[at + 1].focus();
      else if (event.key === "ArrowUp" && at >= 0) (at ? all[at - 1] : words).focus();
      else if (event.key === "Enter" && event.target === words && words.value.trim() && search.dataset.for === words.value && all.length) all[0].click();
      else return;
      event.preventDefault();
    });
    // Which words the list belongs to: Enter must not open what an earlier word found.
    search.addEventListener("htmx:beforeRequest", () => { search.dataset.asked = words.value; });
    search.addEventListener("htmx:afterSwap", () => { search.dataset.for = search.dataset.asked; });
  }

  // On paper nobody can unfold a table.
  window.addEventListener("beforeprint", () => document.querySelectorAll("details.twin").forEach((twin) => { twin.open = true; }));
})();
