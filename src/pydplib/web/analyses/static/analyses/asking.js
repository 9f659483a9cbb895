// Keeps form and price in step with every choice. Without this script the button "Show the price" does the same.
// The server renders everything; here only the newest answer is put in place, so that nothing typed meanwhile is lost.
(() => {
  "use strict";
  let turn = 0;
  let timer = 0;
  let whole = false;

  const address = (form) => `${form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`;

  // By its words: what the reader opened stays open when the server's form takes the place of this one.
  const opened = () => [...document.querySelectorAll("details[open] > summary")].map((summary) => summary.textContent);

  const put = (form, page) => {
    const open = new Set(opened());
    const focused = document.activeElement && document.activeElement.id;
    const title = document.getElementById("id_title")?.value;
    const price = document.getElementById("price");
    // The box itself stays: screen readers announce what changes in it.
    price.replaceChildren(...page.getElementById("price").childNodes);
    if (whole) form.replaceWith(page.querySelector("form.asking"));
    else document.getElementById("worth").replaceChildren(...page.getElementById("worth").childNodes);
    whole = false;
    document.querySelectorAll("details > summary").forEach((summary) => { if (open.has(summary.textContent)) summary.parentElement.open = true; });
    const again = document.getElementById("id_title");
    if (again && title) again.value = title;
    if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus();
  };

  const ask = async (form, mine) => {
    const place = address(form);
    const answer = await fetch(place, { headers: { Accept: "text/html" } }).catch(() => null);
    if (mine !== turn) return;
    // Signed out, no longer allowed, or no answer at all: the whole page says so.
    if (!answer || !answer.ok || new URL(answer.url).pathname !== form.getAttribute("action")) return window.location.assign(place);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine === turn && page.getElementById("price")) put(form, page);
  };

  // The button pays for the question beside it: it waits while another one is on its way.
  const hold = () => document.querySelectorAll("#price button.primary").forEach((button) => { button.disabled = true; });

  // The slider says at once what a step costs and is worth: the page has brought all steps along.
  const say = (slider) => {
    const box = slider.closest("[data-precision]");
    const step = box.querySelectorAll("[data-step]")[Number(slider.value)];
    if (!step) return;
    box.querySelectorAll("[data-said]").forEach((place) => { place.textContent = step.dataset[place.dataset.said]; });
    const light = box.querySelector(".precision-said .badge");
    light.className = light.className.replace(/\b(good|warning|danger|neutral)\b/, step.dataset.tone);
    light.textContent = step.dataset.word;
    box.querySelectorAll("[data-step]").forEach((other) => { other.toggleAttribute("aria-current", other === step); });
    slider.setAttribute("aria-valuetext", `${step.dataset.margin}, ${step.dataset.points} points, ${step.dataset.word}`);
  };

  const follow = (event) => {
    const control = event.target;
    const form = control.closest("form.asking");
    const kind = control.closest("[data-live]")?.dataset.live;
    if (control.type === "range" && event.type === "input") say(control);
    if (!form || !kind || (event.type === "change") !== (kind === "form")) return;
    whole = whole || kind === "form";
    const mine = ++turn;
    hold();
    window.clearTimeout(timer);
    timer = window.setTimeout(() => ask(form, mine), kind === "form" ? 50 : 400);
  };
  document.addEventListener("change", follow);
  document.addEventListener("input", follow);
})();
