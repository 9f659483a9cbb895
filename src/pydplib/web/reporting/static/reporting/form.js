// The report form while somebody writes: saves the draft, lets questions appear and go, shows category and text,
// and lets a report be filled in without the mouse. The server decides everything; without script it does so on "Update".
(() => {
  "use strict";
  const form = document.querySelector("form[data-report-form]");
  if (!form) return;
  const root = form.querySelector("[data-part='items']");
  const live = form.querySelector("[data-part='live']");
  const met = form.querySelector("[data-part='met']");
  const status = form.querySelector("[data-status]");
  const CONTROLS = "input:not([type='hidden']), select, textarea";
  const PAUSE = 500; // milliseconds without a key before typed text is sent

  let timer = 0; // waiting to send
  let queue = Promise.resolve(); // requests, one after the other
  let pending = 0; // how many of them are not answered
  let saveQueued = false; // a plain save waits in the queue: it will carry whatever is typed until then
  let unsaved = false;

  // --- Saving -------------------------------------------------------------------------------------------------

  const say = (text) => { status.textContent = text; };
  // The reader's own clock, from 00:00 to 23:59, for what the server saved earlier too.
  const clock = (when = new Date()) => when.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  const earlier = status.querySelector("time");
  if (earlier) earlier.textContent = clock(new Date(earlier.dateTime));

  const later = (pause) => {
    unsaved = true;
    window.clearTimeout(timer);
    timer = window.setTimeout(() => send(), pause);
  };

  const busy = () => Boolean(timer || pending);

  // One request at a time, so that each carries the revision of the answer before it.
  const send = (step = "update", kept = null) => {
    window.clearTimeout(timer);
    timer = 0;
    const plain = step === "update" && !kept;
    if (plain && saveQueued) return queue;
    if (plain) saveQueued = true;
    pending += 1;
    queue = queue.then(() => {
      if (plain) saveQueued = false;
      return post(step, kept);
    }).catch(() => { unsaved = true; }).finally(() => {
      pending -= 1;
      if (!busy()) settle();
    });
    return queue;
  };

  const post = async (step, kept) => {
    const data = kept || new FormData(form);
    data.set("do", step);
    unsaved = false;
    say("Saving …");
    let answer;
    try {
      answer = await fetch(form.dataset.autosave, {
        method: "POST", body: data, redirect: "manual", headers: { "X-Requested-With": "fetch" },
      });
    } catch {
      unsaved = true;
      say("Not saved: the server cannot be reached. Trying again …");
      timer = window.setTimeout(() => send(), 5000);
      return;
    }
    if (answer.type === "opaqueredirect" || answer.status === 401) {
      unsaved = true;
      await signInAgain();
      return;
    }
    const elsewhere = answer.headers.get("X-Go-To");
    if (elsewhere) {
      window.location.assign(elsewhere);
      return;
    }
    if (!answer.ok && answer.status !== 409) {
      unsaved = true;
      await lost(answer.status);
      return;
    }
    take(await answer.text(), step !== "update" || Boolean(kept));
    say(answer.status === 409 ? "Not saved: see above." : `Saved ${clock()}`);
    if (answer.status === 409) met.scrollIntoView({ block: "start" });
  };

  // A form without its session: whoever is signed out signs in again, everybody else is told where they look.
  const lost = async (code) => {
    if (code === 403) {
      const home = await fetch("/", { method: "HEAD", redirect: "manual" }).catch(() => null);
      if (home && home.type === "opaqueredirect") {
        await signInAgain();
        return;
      }
    }
    const words = "Not saved. Your session may have ended, or this page is too old: copy what matters, then load the page again.";
    say(words);
    const alert = document.createElement("p");
    alert.className = "alert danger";
    alert.setAttribute("role", "alert");
    alert.textContent = `${words} (${code})`;
    met.replaceChildren(alert);
    met.scrollIntoView({ block: "start" });
  };

  // --- Showing what the server answered ---------------------------------------------------------------------------

  const take = (text, whole) => {
    const answer = new DOMParser().parseFromString(text, "text/html").querySelector("[data-answer]");
    if (!answer) return;
    form.elements.namedItem("revision").value = answer.dataset.revision;
    const part = (name) => answer.querySelector(`[data-part='${name}']`);
    if (whole) root.replaceChildren(...adopted(part("items")));
    else morph(root, part("items"));
    live.replaceChildren(...adopted(part("live")));
    met.replaceChildren(...(part("met") ? adopted(part("met")) : []));
  };

  const adopted = (node) => [...node.childNodes].map((child) => document.importNode(child, true));

  // Questions that stay are not touched, so that focus, caret and what is being typed stay where they are.
  const morph = (mine, fresh) => {
    const wanted = new Map([...fresh.children].map((child) => [child.dataset.item, child]));
    const fits = (child) => wanted.get(child.dataset.item)?.dataset.shape === child.dataset.shape;
    for (const child of [...mine.children]) if (!fits(child)) child.remove();
    let at = mine.firstElementChild;
    for (const next of fresh.children) {
      if (at && at.dataset.item === next.dataset.item) {
        update(at, next);
        at = at.nextElementSibling;
      } else {
        mine.insertBefore(document.importNode(next, true), at);
      }
    }
  };

  const update = (mine, fresh) => {
    const inside = mine.querySelector(":scope > [data-items]");
    if (inside) morph(inside, fresh.querySelector(":scope > [data-items]"));
    for (const name of ["[data-notes]", "[data-value]"]) {
      const old = mine.querySelector(`:scope > ${name}`);
      const now = fresh.querySelector(`:scope > ${name}`);
      if (old && now && old.innerHTML !== now.innerHTML) old.replaceChildren(...adopted(now));
    }
    // What the server filled in from other answers, where nobody has chosen yet.
    if (!mine.querySelector("input[type='radio']:checked")) {
      const told = fresh.querySelector(":scope > .pills input[type='radio'][checked]");
      const same = told && [...mine.querySelectorAll("input[type='radio']")].find((each) => each.value === told.value);
      if (same) same.checked = true;
    }
    if (!inside) mine.classList.toggle("invalid", fresh.classList.contains("invalid"));
  };

  // --- The way through the form ------------------------------------------------------------------------------------

  const fields = () => [...root.querySelectorAll("[data-shape]")].filter((field) => field.querySelector(CONTROLS));
  const control = (field) => field.querySelector("input[type='radio']:checked") || field.querySelector(CONTROLS);

  const focusNext = (name) => {
    const all = fields();
    const here = all.findIndex((field) => field.dataset.item === name);
    const next = all[here + 1];
    if (next) {
      const target = control(next);
      target.focus();
      if (target.select && target.type === "text") target.select();
    } else {
      form.querySelector("[data-add]")?.focus();
    }
  };

  // After a question on which others depend, the next one may only now appear: keys typed meanwhile are held.
  let held = null;
  let settled = [];
  const settle = () => { const waiting = settled; settled = []; waiting.forEach((go) => go()); };

  const goOn = (field) => {
    const name = field.dataset.item;
    if (!("branches" in field.dataset) || !busy()) {
      focusNext(name);
      return;
    }
    held = [];
    let done = false;
    const go = () => {
      if (done) return;
      done = true;
      focusNext(name);
      const keys = held;
      held = null;
      keys.forEach(typeKey);
    };
    settled.push(go);
    window.setTimeout(go, 3000);
  };

  const typeKey = (key) => {
    if (held) {
      held.push(key);
      return;
    }
    const target = document.activeElement;
    const field = target?.closest("[data-shape]");
    if (!field) return;
    if (key === "Enter" || key === "Tab") goOn(field);
    else if (target.type === "radio") choose(field, key);
    else if (target.type === "text" || target.tagName === "TEXTAREA") {
      target.setRangeText(key, target.selectionStart, target.selectionEnd, "end");
      target.dispatchEvent(new Event("input", { bubbles: true }));
    }
  };

  const choose = (field, key) => {
    const option = field.querySelector(`input[type='radio'][data-key='${CSS.escape(key.toLowerCase())}']`);
    if (!option) return false;
    option.checked = true;
    option.focus();
    option.dispatchEvent(new Event("change", { bubbles: true }));
    goOn(field);
    return true;
  };

  form.addEventListener("keydown", (event) => {
    const key = event.key;
    if (held && !event.ctrlKey && !event.altKey && !event.metaKey) {
      if (key.length === 1 || key === "Enter" || key === "Tab") {
        event.preventDefault();
        held.push(key);
      }
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const field = event.target.closest("[data-shape]");
    if (!field) return;
    if (event.target.type === "date" && key.toLowerCase() === "t") {
      event.preventDefault();
      setToday(event.target);
    } else if (event.target.type === "radio" && key.length === 1 && key !== " ") {
      if (choose(field, key)) event.preventDefault();
    } else if (key === "Enter" && event.target.tagName !== "TEXTAREA" && event.target.matches(CONTROLS)) {
      event.preventDefault();
      goOn(field);
    } else if (key === "Tab" && !event.shiftKey && "branches" in field.dataset && busy()) {
      event.preventDefault();
      goOn(field);
    }
  });

  document.addEventListener("keydown", (event) => {
    const key = event.key.toLowerCase();
    const plain = !event.altKey && !event.shiftKey;
    if ((event.ctrlKey || event.metaKey) && plain && key === "s") {
      event.preventDefault();
      send();
    } else if ((event.ctrlKey || event.metaKey) && plain && key === "enter") {
      event.preventDefault();
      form.requestSubmit(form.querySelector("[data-finish]"));
    } else if (event.altKey && !event.ctrlKey && key === "l") {
      event.preventDefault();
      form.querySelector("[data-add]")?.click();
    } else if (event.altKey && !event.ctrlKey && key === "p") {
      const prior = document.querySelector(".r-prior");
      if (prior) { event.preventDefault(); prior.open = !prior.open; }
    }
  });

  // --- What people do ---------------------------------------------------------------------------------------------

  form.addEventListener("input", (event) => {
    if (event.target.type !== "radio" && event.target.tagName !== "SELECT") later(PAUSE);
  });
  form.addEventListener("change", (event) => { if (event.target.name !== "seen") later(0); });

  // The reader's own day. It is a key and no default: a report that is written later would keep a wrong day unseen.
  const setToday = (input) => {
    const now = new Date();
    input.value = [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((n) => String(n).padStart(2, "0")).join("-");
    input.dispatchEvent(new Event("change", { bubbles: true }));
  };
  form.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-today]");
    if (button) setToday(button.closest("[data-shape]").querySelector("input[type='date']"));
  });

  let stepping = false; // a key may press the button twice: ours and the browser's own access key
  form.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-step]");
    if (!button) return;
    event.preventDefault();
    if (stepping) return;
    stepping = true;
    const step = button.value;
    const before = new Set([...root.querySelectorAll("[data-repetition]")].map((each) => each.dataset.item));
    await send(step);
    stepping = false;
    const added = [...root.querySelectorAll("[data-repetition]")].filter((each) => !before.has(each.dataset.item)).pop();
    const first = added?.querySelector(CONTROLS);
    (first || form.querySelector("[data-add]") || root).focus();
    added?.scrollIntoView({ block: "nearest" });
  });

  // A press on Sign waits for the draft on its way; else the page would meet its own save.
  form.addEventListener("submit", async (event) => {
    if (!busy()) { unsaved = false; return; }
    event.preventDefault();
    const submitter = event.submitter;
    await send();
    if (!unsaved) form.requestSubmit(submitter); // else the status line says why not
  });

  // The definitions of the question at hand stand beside the form.
  const atHand = document.querySelector("[data-at-hand]");
  form.addEventListener("focusin", (event) => {
    const field = event.target.closest("[data-shape]");
    const definitions = field?.querySelector(".r-definitions dl");
    if (!field || !atHand) return;
    atHand.hidden = !definitions;
    if (!definitions) return;
    atHand.querySelector("[data-at-hand-title]").textContent = field.querySelector("legend, label").firstChild.textContent.trim();
    atHand.querySelector("[data-at-hand-words]").replaceChildren(document.importNode(definitions, true));
  });

  // --- When the session ends ----------------------------------------------------------------------------------------
  // What was typed after a timeout waits in this tab, encrypted with a key that only the same person's page on this
  // draft gets from the server: on a shared computer nothing readable stays behind.

  const place = `pydplib:kept:${form.getAttribute("action")}`;
  const bytes = (hex) => Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));
  const key = (use) => crypto.subtle.importKey("raw", bytes(form.dataset.keepKey), "AES-GCM", false, [use]);

  const keep = async () => {
    const entries = [...new FormData(form)].filter(([name]) => name !== "csrfmiddlewaretoken");
    const start = crypto.getRandomValues(new Uint8Array(12));
    const secret = new Uint8Array(await crypto.subtle.encrypt(
      { name: "AES-GCM", iv: start }, await key("encrypt"), new TextEncoder().encode(JSON.stringify(entries)),
    ));
    sessionStorage.setItem(place, JSON.stringify([[...start], [...secret]]));
  };

  const restore = async () => {
    const kept = sessionStorage.getItem(place);
    if (!kept) return;
    sessionStorage.removeItem(place);
    let entries;
    try {
      const [start, secret] = JSON.parse(kept).map((list) => Uint8Array.from(list));
      const plain = await crypto.subtle.decrypt({ name: "AES-GCM", iv: start }, await key("decrypt"), secret);
      entries = JSON.parse(new TextDecoder().decode(plain));
    } catch {
      return; // somebody else's, or damaged: gone
    }
    const data = new FormData();
    entries.forEach(([name, value]) => data.append(name, value));
    data.set("csrfmiddlewaretoken", form.elements.namedItem("csrfmiddlewaretoken").value);
    await send("restore", data);
  };

  const signInAgain = async () => {
    window.clearTimeout(timer);
    timer = 0;
    if (unsaved && window.crypto?.subtle) await keep();
    unsaved = false;
    window.location.assign(form.dataset.signIn);
  };

  // An unattended screen does not show a report for longer than the session lasts.
  let idle = 0;
  const awake = () => {
    window.clearTimeout(idle);
    idle = window.setTimeout(async () => {
      if (unsaved) await send();
      window.location.assign(form.dataset.signIn);
    }, Number(form.dataset.idle) * 60000 + 5000);
  };
  for (const name of ["keydown", "pointerdown", "input"]) document.addEventListener(name, awake, { passive: true });
  awake();

  window.addEventListener("pagehide", () => {
    if (!unsaved) return;
    const data = new FormData(form);
    data.set("do", "update");
    navigator.sendBeacon(form.dataset.autosave, data);
  });
  window.addEventListener("pageshow", (event) => { if (event.persisted) window.location.reload(); });

  restore();
})();
