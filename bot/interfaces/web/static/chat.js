"use strict";
(() => {
  const chat = document.querySelector("[data-chat]");
  if (!chat) return;
  const talk = chat.querySelector("#talk"), form = chat.querySelector("form.composer"), area = form.querySelector("textarea");
  const stop = form.querySelector("[data-stop]"), csrf = document.body.dataset.csrf;
  let asked = "", stream = null;

  const send = (path, fields) => fetch(path, {
    method: "POST", headers: { "X-CSRF-Token": csrf, "HX-Request": "true", "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(fields),
  });
  const end = () => scrollTo({ top: document.body.scrollHeight });
  const add = (html) => { document.querySelector("#nothing")?.remove(); talk.insertAdjacentHTML("beforeend", html); end(); };
  const bubble = (text, mine) => {
    const say = document.createElement("article"), inner = document.createElement("div");
    say.className = mine ? "say mine" : "say"; inner.className = "bubble"; inner.textContent = text; say.append(inner);
    document.querySelector("#nothing")?.remove(); talk.append(say); end();
    return inner;
  };
  const follow = (id) => {
    asked = id; stop.hidden = false;
    const growing = bubble("", false);
    growing.classList.add("working");
    stream = new EventSource(`${chat.dataset.chat}/answer?id=${encodeURIComponent(id)}`);
    stream.addEventListener("text", (event) => { growing.textContent = JSON.parse(event.data); end(); });
    stream.addEventListener("doing", (event) => { const what = JSON.parse(event.data); if (what && !growing.textContent) growing.textContent = what; });
    stream.addEventListener("answer", (event) => {
      stream.close(); stop.hidden = true;
      const html = JSON.parse(event.data);
      if (html.startsWith("<article")) { growing.parentElement.remove(); add(html); }
      else { growing.classList.remove("working"); growing.textContent = html; }
      area.focus();
    });
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = area.value.trim();
    if (!text) return;
    const mine = bubble(text, true), answer = await send(chat.dataset.chat, { text }).catch(() => null);
    const id = answer?.headers.get("X-Asked");
    if (!answer?.ok || !id) {
      mine.parentElement.remove();
      const page = answer && new DOMParser().parseFromString(await answer.text(), "text/html");
      bubble(page?.querySelector("main .card .text")?.textContent || chat.dataset.unsent, false);
      return;
    }
    area.value = "";
    follow(id);
  });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); form.requestSubmit(); }
  });
  stop.addEventListener("click", async () => { await send(`${chat.dataset.chat}/stop`, { id: asked }); });
  if (chat.dataset.asked) follow(chat.dataset.asked);
  const named = location.hash && document.getElementById(location.hash.slice(1));
  if (named) named.scrollIntoView({ block: "center" }); else { end(); area.focus(); }
})();
