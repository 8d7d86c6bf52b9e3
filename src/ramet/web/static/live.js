// Keeps a page up to date and shows times in the reader's zone. Pages work without it.

/** Makes `old` equal to `next` by changing as little as possible, so that focus, selection and opened parts stay. */
function morph(old, next) {
  if (old.nodeType !== next.nodeType || old.nodeName !== next.nodeName || old.id !== next.id) {
    old.replaceWith(next);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue;
    return;
  }
  if (old.hasAttribute("data-keep")) return;
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  morphChildren(old, next);
}

function morphChildren(old, next) {
  const known = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
  let at = old.firstChild;
  for (const wanted of [...next.childNodes]) {
    const named = wanted.id ? known.get(wanted.id) : undefined;
    if (named && named !== at) {
      old.insertBefore(named, at);
      morph(named, wanted);
    } else if (at) {
      const following = at.nextSibling;
      if (!named && at.id && at.id !== wanted.id) old.insertBefore(wanted, at);
      else {
        morph(at, wanted);
        at = following;
      }
    } else old.appendChild(wanted);
  }
  while (at) {
    const following = at.nextSibling;
    at.remove();
    at = following;
  }
}

const ZONED = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium" });

function showLocalTimes(within) {
  for (const time of within.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (!Number.isNaN(at.valueOf())) {
      time.title = time.dateTime;
      time.textContent = ZONED.format(at);
    }
  }
}

function parsed(html) {
  // A template's content runs no script and loads nothing until it is put into the page.
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

function follow(line) {
  const told = line.querySelector("[data-live-state]");
  const live = document.getElementById("live");
  let stream = null;
  const say = (words, isLive) => {
    told.textContent = words;
    line.classList.toggle("on", isLive);
  };
  const begin = () => {
    stream = new EventSource(line.dataset.live);
    stream.addEventListener("open", () => say("live", true));
    stream.addEventListener("error", () => say("reconnecting", false));
    stream.addEventListener("page", (event) => {
      const next = document.createElement("div");
      next.id = "live";
      next.append(parsed(JSON.parse(event.data)));
      showLocalTimes(next);
      morph(live, next);
    });
  };
  const pause = () => {
    stream?.close();
    stream = null;
    say("paused", false);
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? pause() : stream ?? begin()));
  addEventListener("pagehide", pause);
  begin();
}

/** `<details data-part="/address">`: what is inside is fetched when it is opened for the first time. */
async function openPart(details) {
  const place = details.querySelector("[data-part-place]");
  if (!details.open || !place || place.dataset.asked) return;
  place.dataset.asked = "1";
  try {
    const answer = await fetch(details.dataset.part, { headers: { Accept: "text/html" } });
    const inner = parsed(await answer.text());
    showLocalTimes(inner);
    place.replaceChildren(inner);
  } catch {
    place.textContent = "This could not be fetched: close it and open it again.";
    delete place.dataset.asked;
  }
}

/** Parts come and go with the page, so one listener hears of all; `toggle` does not bubble. */
function watchParts() {
  document.addEventListener("toggle", ({ target }) => target.matches?.("details[data-part]") && openPart(target), true);
}

function theme() {
  const button = document.querySelector("[data-theme-switch]");
  const root = document.documentElement;
  const dark = () => root.dataset.theme === "dark" || (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  const show = () => (button.textContent = dark() ? "Light" : "Dark");
  const kept = localStorage.getItem("ramet-theme");
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    localStorage.setItem("ramet-theme", root.dataset.theme);
    show();
  });
  show();
}

/** On narrow screens the list of pages is a line that scrolls: the page that one is on is brought into sight. */
function showWhereOneIs() {
  const here = document.querySelector(".top [aria-current]");
  const line = here?.closest("ul");
  if (line) line.scrollLeft = here.offsetLeft - line.offsetLeft - (line.clientWidth - here.offsetWidth) / 2;
}

theme();
showWhereOneIs();
showLocalTimes(document);
watchParts();
for (const line of document.querySelectorAll("[data-live]")) follow(line);
