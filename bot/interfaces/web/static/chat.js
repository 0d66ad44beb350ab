"use strict";
(() => {
  const chat = document.querySelector("[data-chat]");
  if (!chat) return;
  const talk = chat.querySelector("#talk"), form = chat.querySelector("form.composer"), area = form.querySelector("textarea");
  const stop = form.querySelector("[data-stop]"), csrf = document.body.dataset.csrf;
  const strip = form.querySelector("[data-files]"), picker = form.querySelector("[type=file]"), attach = form.querySelector("[data-attach]");
  const draft = `draft ${chat.dataset.chat}`, keep = () => sessionStorage.setItem(draft, area.value);
  let asked = "", files = [], busy = 0, sending = false, failed = null;

  const send = (path, body) => fetch(path, { method: "POST", headers: { "X-CSRF-Token": csrf, "HX-Request": "true" }, body });
  const end = () => scrollTo({ top: document.body.scrollHeight });
  const bubble = (text, mine) => {
    const say = document.createElement("article"), inner = document.createElement("div");
    say.className = mine ? "say mine" : "say"; inner.className = "bubble"; inner.textContent = text; say.append(inner);
    document.querySelector("#nothing")?.remove(); talk.append(say); end();
    return inner;
  };
  const become = (say, html) => { say.insertAdjacentHTML("beforebegin", html); say.remove(); };
  // New words are followed, unless somebody reads further up.
  let atEnd = true;
  addEventListener("scroll", () => { atEnd = innerHeight + scrollY > document.body.scrollHeight - 200; });
  new MutationObserver(() => { dispatchEvent(new Event("resize")); if (atEnd) end(); }).observe(talk, { childList: true, subtree: true });
  talk.addEventListener("load", () => { if (atEnd) end(); }, true); // a picture has its height only then
  // What was said in another window is added, unless something is under way here.
  document.addEventListener("changed", async ({ detail }) => {
    if (detail !== "messages" || busy || location.search) return;
    const page = await fetch(location.pathname).then((answer) => answer.text()).catch(() => "");
    const found = new DOMParser().parseFromString(page, "text/html").querySelectorAll("#talk > article");
    if (busy) return;
    const more = [...found].filter((each) => !document.getElementById(each.id));
    if (more.length) { document.querySelector("#nothing")?.remove(); talk.append(...more); }
  });

  const shown = (file, place) => {
    const item = document.createElement("li"), name = document.createElement("bdi"), size = document.createElement("span");
    const remove = document.createElement("button"), unit = { style: "unit", unit: "kilobyte" };
    name.textContent = file.name.replace(/[\u202a-\u202e\u2066-\u2069\u061c\u200b-\u200f\ufeff]/g, "");
    size.className = "faint nowrap"; size.textContent = new Intl.NumberFormat(document.documentElement.lang, unit).format(Math.ceil(file.size / 1024));
    remove.type = "button"; remove.className = "small"; remove.textContent = "×";
    remove.setAttribute("aria-label", `${chat.dataset.remove} ${name.textContent}`);
    remove.addEventListener("click", () => {
      files.splice(place, 1); show();
      (strip.querySelectorAll("button")[place] || area).focus();
    });
    if (/^image\/(png|jpeg|gif|webp)$/.test(file.type)) {
      const picture = document.createElement("img"), reader = new FileReader();
      picture.alt = ""; item.append(picture);
      reader.addEventListener("load", () => { picture.src = reader.result; });
      reader.readAsDataURL(file);
    }
    item.append(name, size, remove);
    return item;
  };
  const show = () => {
    strip.hidden = !files.length; area.required = !files.length;
    strip.replaceChildren(...files.map(shown));
  };
  const add = (more) => {
    const wanted = [...files, ...more], most = Number(chat.dataset.most) - 100_000;
    if (wanted.reduce((sum, file) => sum + file.size, 0) > most) bubble(chat.dataset.large, false);
    else { files = wanted; show(); }
    area.focus();
  };
  attach.hidden = false;
  attach.addEventListener("click", () => picker.click());
  picker.addEventListener("change", () => { add(picker.files); picker.value = ""; });
  area.addEventListener("paste", (event) => {
    if (event.clipboardData.files.length) { event.preventDefault(); add(event.clipboardData.files); }
  });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    addEventListener(kind, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      chat.classList.toggle("over", kind === "dragover");
      if (kind === "drop") add(event.dataTransfer.files);
    });
  }

  const follow = (id) => {
    asked = id; stop.hidden = false; busy += 1;
    const growing = bubble("", false), stream = new EventSource(`${chat.dataset.chat}/answer?id=${encodeURIComponent(id)}`);
    growing.classList.add("working");
    stream.addEventListener("text", (event) => { growing.textContent = JSON.parse(event.data); });
    stream.addEventListener("doing", (event) => { const what = JSON.parse(event.data); if (what && !growing.textContent) growing.textContent = what; });
    const ended = (shown) => (event) => {
      stream.close(); busy -= 1;
      if (asked === id) stop.hidden = true;
      shown(JSON.parse(event.data));
    };
    stream.addEventListener("answer", ended((html) => become(growing.parentElement, html)));
    stream.addEventListener("told", ended((words) => { growing.classList.remove("working"); growing.textContent = words; }));
  };
  // Only the owner opens this page: what was not sent is here again after signing in anew, too.
  area.value = sessionStorage.getItem(draft) ?? area.value;
  area.addEventListener("input", keep);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = area.value.trimEnd(), brought = files, body = new FormData();
    if (sending || !(text.trim() || brought.length)) return;
    // What may have arrived although no answer came is sent again under its first id, and so said once.
    const again = failed?.text === text && failed.files.length === brought.length && brought.every((file, n) => file === failed.files[n]);
    const key = again ? failed.id : [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    failed = { id: key, text, files: brought };
    body.append("text", text); body.append("id", key);
    brought.forEach((file) => body.append("file", file, file.name));
    const mine = bubble(text || "…", true).parentElement;
    busy += 1; sending = true; area.value = ""; files = []; show();
    const answer = await send(chat.dataset.chat, brought.length ? body : new URLSearchParams(body)).catch(() => null);
    const id = answer?.headers.get("X-Asked"), told = await answer?.text();
    busy -= 1; sending = false; area.focus();
    if (answer?.ok && id) { failed = null; keep(); become(mine, told); follow(id); return; }
    if (answer?.ok && answer.headers.has("X-Told")) { failed = null; keep(); talk.insertAdjacentHTML("beforeend", told); end(); return; }
    mine.remove();
    area.value = [text, area.value].filter(Boolean).join("\n"); files = [...brought, ...files]; show(); keep();
    const plain = answer?.headers.get("Content-Type").startsWith("text/plain");
    const words = plain ? told : answer && new DOMParser().parseFromString(told, "text/html").querySelector("main .card .text")?.textContent;
    bubble(words || (answer?.redirected ? chat.dataset.signedOut : chat.dataset.unsent), false);
  });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); form.requestSubmit(); }
  });
  stop.addEventListener("click", async () => { await send(`${chat.dataset.chat}/stop`, new URLSearchParams({ id: asked })); });
  if (chat.dataset.asked) follow(chat.dataset.asked);
  const named = location.hash && document.getElementById(location.hash.slice(1));
  if (named) named.scrollIntoView({ block: "center" }); else { end(); area.focus(); }
})();
