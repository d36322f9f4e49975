// Keeps the page up to date: whenever the service has ticked, the page is asked
// for again and what changed is put in its place, so that focus, opened parts
// and what somebody is typing stay. Without this script the page reloads itself.
const refresh = Number(document.body.dataset.refresh);
const banner = document.getElementById("banner");
const least = 1000; // milliseconds between two refreshes
let answered = Date.now();
let problem = "";
let loading = false;
let again = false;
let last = 0;

// alike says whether one node can become the other. What has an id stays itself.
function alike(from, to) {
  return from.nodeType === to.nodeType && from.nodeName === to.nodeName && (from.id ?? "") === (to.id ?? "");
}

// morph makes a node like another one of its kind.
function morph(from, to) {
  if (from.nodeType !== Node.ELEMENT_NODE) {
    if (from.data !== to.data) from.data = to.data;
    return;
  }
  const kept = from.dataset.keep !== undefined; // a script's own: only data is new
  for (const { name } of [...from.attributes]) {
    if (!kept && name !== "open" && !to.hasAttribute(name)) from.removeAttribute(name);
  }
  for (const { name, value } of to.attributes) {
    if ((!kept || name.startsWith("data-")) && from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  if (!kept && from.nodeName !== "NOSCRIPT") children(from, to);
}

// children does that for everything inside, in order.
function children(from, to) {
  let old = from.firstChild;
  for (const fresh of to.childNodes) {
    const self = fresh.id && [...from.children].find((c) => c.id === fresh.id);
    while (self && old && old !== self) old = drop(old);
    if (old && alike(old, fresh)) {
      morph(old, fresh);
      old = old.nextSibling;
    } else {
      from.insertBefore(document.importNode(fresh, true), old);
      if (old && !old.id) old = drop(old);
    }
  }
  while (old) old = drop(old);
}

// drop removes a node and returns the next one.
function drop(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

// tell shows what keeps the page from being right; nothing is the best news.
function tell() {
  const seconds = Math.round((Date.now() - answered) / 1000);
  const limit = 3 * Math.max(Number(document.body.dataset.interval), refresh, 5);
  const late = refresh > 0 && seconds > limit ? "No news from the service." : "";
  const text = problem || late;
  document.body.classList.toggle("gone", text !== "");
  banner.hidden = text === "";
  const [what, age] = banner.children; // only the first is read out
  if (what.textContent !== text) what.textContent = text;
  age.textContent = text && `What you see is ${seconds} s old.`;
}

async function update() {
  if (loading) {
    again = true;
    return;
  }
  loading = true;
  last = Date.now();
  try {
    const reply = await fetch(location.href, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(10000) });
    const type = reply.headers.get("Content-Type") ?? "";
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    // What was seen stays where there is nothing new to see.
    if (!type.startsWith("text/html") || (reply.status >= 500 && reply.status !== 501)) {
      throw new Error(page.querySelector(".problem p")?.textContent ?? `The service answers with ${reply.status}.`);
    }
    // What is typed and not yet right must not take the form away.
    if (document.getElementById("filter") && reply.status === 400) throw new Error(page.querySelector(".problem p")?.textContent ?? "The service answers with 400.");
    for (const part of document.querySelectorAll("[data-live]")) {
      const fresh = page.getElementById(part.id);
      if (fresh) morph(part, fresh);
    }
    document.title = page.title;
    document.body.dataset.interval = page.body.dataset.interval;
    answered = Date.now();
    problem = "";
    said();
    document.dispatchEvent(new CustomEvent("updated"));
  } catch (e) {
    problem = e instanceof TypeError || e.name === "TimeoutError" ? "The service does not answer." : e.message;
  } finally {
    loading = false;
    tell();
    if (again) {
      again = false;
      soon();
    }
  }
}

let planned = 0;
function soon() {
  if (!planned) {
    planned = setTimeout(() => { planned = 0; update(); }, Math.max(0, last + least - Date.now()));
  }
}

let streaming = false;
let streamed = false; // once at least: then the page's own words are no longer true
function said() {
  const how = document.getElementById("how");
  if (!how || !streamed) return;
  how.textContent = streaming ? "Live: follows every tick of the service." : `Not live: asks every ${refresh} s.`;
}

// The stream says when there is something new. Whatever happens to it, the page
// asks by itself every now and then.
function listen() {
  const events = new EventSource("autoscaler/events");
  events.addEventListener("open", () => { streaming = streamed = true; said(); });
  events.addEventListener("tick", soon);
  events.addEventListener("error", () => {
    if (streaming) soon();
    streaming = false;
    said();
    if (events.readyState === EventSource.CLOSED) setTimeout(listen, refresh * 1000);
  });
}

document.addEventListener("changed", update);

if (refresh > 0) {
  listen();
  setInterval(() => { if (Date.now() - last >= (problem ? 3000 : refresh * 1000)) update(); }, 1000);
  setInterval(tell, 1000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) soon(); });
}

// A list follows what is typed. Its form may come later than this script: with the
// first scope.
{
  let timer = 0;
  document.addEventListener("input", (event) => {
    const filter = event.target.form;
    if (filter?.id !== "filter") return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (!filter.checkValidity()) return; // half a time is none
      const query = new URLSearchParams([...new FormData(filter)].filter(([, value]) => value !== ""));
      history.replaceState(null, "", query.size ? "?" + query : location.pathname);
      update();
    }, 250);
  });
}
