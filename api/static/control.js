// Pause and resume. The credential stays in this module's memory: it is never
// stored, and sent to nobody but the service that the page came from.
const form = document.getElementById("pause");
let credential = "";

function base64(text) {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

// given is what the form holds, else what was given before.
function given() {
  const { kind, user, secret } = form.elements;
  if (secret.value === "") return credential;
  return kind.value === "basic" ? "Basic " + base64(user.value + ":" + secret.value) : "Bearer " + secret.value;
}

// remember keeps what was accepted, and takes it off the screen.
function remember(authorization) {
  credential = authorization;
  if (!form) return;
  form.elements.secret.value = "";
  form.elements.secret.placeholder = credential ? "as before" : "";
}

// forget drops what was refused; what is typed stays, to be mended.
function forget() {
  credential = "";
  if (form) form.elements.secret.placeholder = "";
}

function show() {
  const basic = form.elements.kind.value === "basic";
  form.querySelector(".user").hidden = !basic;
  form.querySelector(".what").textContent = basic ? "Password" : "Token";
}

// serviceNow is the service's clock, which need not be this machine's: what the page
// said, and how long ago that was. A page that does not load itself again can be old.
let said = Date.now();
document.addEventListener("updated", () => { said = Date.now(); });

function serviceNow() {
  return Date.parse(document.getElementById("now").dateTime) + Math.max(0, Date.now() - said);
}

function body() {
  const out = { reason: form.elements.reason.value.trim() };
  if (form.dataset.scope !== "") out.scope = form.dataset.scope; // else the whole service
  const seconds = Number(form.elements.for.value);
  if (seconds > 0) out.until = new Date(serviceNow() + seconds * 1000).toISOString();
  return out;
}

async function send(what) {
  const authorization = given();
  const outcome = form.querySelector(".outcome");
  const content = body();
  if (what === "resume") delete content.until;
  outcome.className = "outcome";
  outcome.textContent = "…";
  try {
    const reply = await fetch("autoscaler/" + what, {
      method: "POST",
      // Without a credential of ours the browser may have one.
      credentials: authorization ? "omit" : "same-origin",
      headers: { "Content-Type": "application/json", ...(authorization && { Authorization: authorization }) },
      body: JSON.stringify(content),
    });
    await accepted(reply);
    remember(authorization);
    outcome.textContent = what === "pause" ? "Paused." : "Resumed.";
    document.dispatchEvent(new CustomEvent("changed"));
  } catch (e) {
    outcome.classList.add("bad");
    outcome.textContent = e instanceof TypeError ? "The service does not answer." : e.message;
  }
}

const limits = document.getElementById("raise");

// raise sets max_workers until a time, or takes that back. The tag keeps it from
// writing over what somebody else has set meanwhile.
async function raise(what) {
  const authorization = form ? given() : "";
  const outcome = limits.querySelector(".outcome");
  const { workers, reason, for: seconds } = limits.elements;
  const change = { scope: limits.dataset.scope, maxWorkers: null };
  if (what === "raise") {
    change.maxWorkers = Number(workers.value);
    change.until = new Date(serviceNow() + Number(seconds.value) * 1000).toISOString();
  }
  if (reason.value.trim() !== "") change.reason = reason.value.trim();
  const common = { credentials: authorization ? "omit" : "same-origin" };
  const headers = { ...(authorization && { Authorization: authorization }) };
  outcome.className = "outcome";
  outcome.textContent = "…";
  try {
    const is = await fetch("autoscaler/config?" + new URLSearchParams({ scope: change.scope }), { ...common, headers });
    await accepted(is);
    const tag = is.headers.get("ETag").replace(/^W\//, "");
    await accepted(await fetch("autoscaler/config", {
      ...common, method: "PUT", headers: { ...headers, "Content-Type": "application/json", "If-Match": tag },
      body: JSON.stringify({ scopes: [change] }),
    }));
    remember(authorization);
    outcome.textContent = what === "raise" ? "Raised. It counts from the next tick on." : "As configured again, from the next tick on.";
    document.dispatchEvent(new CustomEvent("changed"));
  } catch (e) {
    outcome.classList.add("bad");
    outcome.textContent = e instanceof TypeError ? "The service does not answer." : e.message;
  }
}

// accepted throws what a service says that refuses.
async function accepted(reply) {
  if (reply.ok) return;
  const problem = await reply.json().catch(() => ({}));
  if (reply.status === 401) forget();
  throw new Error(`${reply.status}: ${problem.detail ?? "refused"}`);
}

if (limits) {
  limits.hidden = false;
  limits.addEventListener("submit", (event) => {
    event.preventDefault();
    raise(event.submitter?.value === "end" ? "end" : "raise");
  });
}

const past = document.getElementById("backtest");

// replay asks for a backtest and shows it: a part of a page, made by the service
// from escaped values.
async function replay() {
  const authorization = form ? given() : "";
  const outcome = past.querySelector(".outcome");
  const result = document.getElementById("backtest-result");
  const content = { scope: past.dataset.scope };
  if (past.elements.against.value !== "") content.against = past.elements.against.value;
  outcome.className = "outcome";
  outcome.textContent = "…";
  try {
    const reply = await fetch("autoscaler/backtest", {
      method: "POST",
      credentials: authorization ? "omit" : "same-origin",
      headers: { "Content-Type": "application/json", Accept: "text/html", ...(authorization && { Authorization: authorization }) },
      body: JSON.stringify(content),
    });
    await accepted(reply);
    remember(authorization);
    const part = new DOMParser().parseFromString(await reply.text(), "text/html");
    result.replaceChildren(...part.body.childNodes);
    outcome.textContent = "";
  } catch (e) {
    outcome.classList.add("bad");
    outcome.textContent = e instanceof TypeError ? "The service does not answer." : e.message;
  }
}

if (past) {
  past.hidden = false;
  past.addEventListener("submit", (event) => {
    event.preventDefault();
    replay();
  });
}

if (form) {
  form.hidden = false;
  show();
  form.elements.kind.addEventListener("change", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(event.submitter?.value === "resume" ? "resume" : "pause");
  });
}
