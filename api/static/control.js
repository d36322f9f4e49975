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

function show() {
  const basic = form.elements.kind.value === "basic";
  form.querySelector(".user").hidden = !basic;
  form.querySelector(".what").textContent = basic ? "Password" : "Token";
}

function body() {
  const out = { reason: form.elements.reason.value.trim() };
  if (form.dataset.scope !== "") out.scope = form.dataset.scope; // else the whole service
  const seconds = Number(form.elements.for.value);
  if (seconds > 0) {
    // Counted from the service's clock, which need not be this machine's.
    const now = Date.parse(document.getElementById("now").dateTime);
    out.until = new Date(now + seconds * 1000).toISOString();
  }
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
    if (!reply.ok) {
      const problem = await reply.json().catch(() => ({}));
      if (reply.status === 401) credential = "";
      throw new Error(`${reply.status}: ${problem.detail ?? "refused"}`);
    }
    credential = authorization;
    form.elements.secret.value = "";
    form.elements.secret.placeholder = credential ? "as before" : "";
    outcome.textContent = what === "pause" ? "Paused." : "Resumed.";
    document.dispatchEvent(new CustomEvent("changed"));
  } catch (e) {
    outcome.classList.add("bad");
    outcome.textContent = e instanceof TypeError ? "The service does not answer." : e.message;
  }
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
