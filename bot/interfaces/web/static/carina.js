"use strict";
(() => {
  const $ = (selector, within = document) => within.querySelector(selector);
  const language = document.documentElement.lang, compact = new Intl.NumberFormat(language, { notation: "compact" });
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  /* Times on the viewer's clocks, also in what is shown later: the exact one on hover. */
  const clock = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "medium" });
  const localize = () => all("time[datetime]:not([data-local])").forEach((each) => {
    each.title = clock.format(new Date(each.dateTime));
    each.dataset.local = "";
  });
  new MutationObserver(localize).observe(document.body, { childList: true, subtree: true });

  $("[data-theme-toggle]")?.addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("theme", document.documentElement.dataset.theme);
    plots();
  });
  $("[data-menu]")?.addEventListener("click", (event) => {
    const open = $(".side").classList.toggle("open");
    event.currentTarget.setAttribute("aria-expanded", String(open));
  });

  /* Keys */
  const typing = () => /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");
  let leading = false;
  addEventListener("keydown", (event) => {
    if (typing() || event.ctrlKey || event.metaKey || event.altKey) return;
    if (leading) {
      leading = false;
      const to = { o: "/", c: "/chat", m: "/memory", a: "/approvals", i: "/messages" }[event.key];
      if (to) location.href = to;
    } else if (event.key === "g") { leading = true; setTimeout(() => { leading = false; }, 1200); }
    else if (event.key === "?") $("#keys")?.showModal();
    else if (event.key === "/") {
      event.preventDefault();
      const box = $("#search");
      if (box) box.focus(); else location.href = "/search";
    }
  });

  /* Sent once, however often the button is pressed; the text of an editor is counted. */
  addEventListener("submit", (event) => {
    const button = event.submitter;
    if (button && !event.defaultPrevented) setTimeout(() => { button.disabled = true; setTimeout(() => { button.disabled = false; }, 4000); });
  });
  /* A form with a long text is kept until an answer to it is there: the service may have died under it. */
  const longs = all("form[method=post]").filter((form) => $("textarea", form) && !form.closest("[data-chat]"));
  const sentTo = ({ pathname, search }) => `form ${pathname}${search} `;
  const kept = (form) => sentTo(new URL(form.getAttribute("action"), location)) + longs.indexOf(form);
  if ($("[data-answered]")) Object.keys(sessionStorage).filter((key) => key.startsWith(sentTo(location))).forEach((key) => sessionStorage.removeItem(key));
  $("form[action='/logout']")?.addEventListener("submit", () => sessionStorage.clear());
  longs.forEach((form) => {
    const draft = JSON.parse(sessionStorage.getItem(kept(form)) ?? "[]");
    sessionStorage.removeItem(kept(form));
    let answers = false, asks = false;
    form.addEventListener("submit", async (event) => {
      if (answers) { sessionStorage.setItem(kept(form), JSON.stringify([...new FormData(form)])); answers = false; return; }
      event.preventDefault(); // sent only to a service that answers: else the browser would leave the page
      if (asks) return;
      const button = event.submitter;
      asks = true;
      answers = await fetch("/healthz", { cache: "no-store" }).then((answer) => answer.ok, () => false);
      asks = false;
      if (answers) form.requestSubmit(button);
      else { $("#offline").hidden = false; $("#offline").scrollIntoView({ block: "nearest" }); }
    });
    if (!draft.some(([name, value]) => name === "csrf" && value === document.body.dataset.csrf)) return; // somebody else's
    draft.forEach(([name, value]) => { const field = form.elements[name]; if (field?.type === "checkbox") field.checked = true; else if (field && "value" in field) field.value = value; });
    $("#restored").hidden = false;
  });
  all("textarea[data-limit]").forEach((area) => area.addEventListener("input", () => {
    $("[data-count]").textContent = area.value.length.toLocaleString(language);
    const gauge = $(".gauge", area.form), share = Math.min(100, 100 * area.value.length / Number(area.dataset.limit));
    $("rect", gauge).setAttribute("width", share);
    gauge.classList.toggle("bad", share >= 100);
    gauge.classList.toggle("warn", share >= 80 && share < 100);
  }));
  addEventListener("htmx:configRequest", (event) => { event.detail.headers["X-CSRF-Token"] = document.body.dataset.csrf; });

  /* What moves: one stream tells what changed, and the part that shows it is loaded anew. */
  const live = $("#live");
  let sent = live?.innerHTML; // as it came: what is shown has its times on the viewer's clocks
  const reload = async () => {
    if (live.contains(document.activeElement) && document.activeElement !== document.body) return;
    const answer = await fetch(location.href, { headers: { "HX-Request": "true" } }).catch(() => null);
    if (!answer?.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("#live");
    if (!fresh || fresh.innerHTML === sent) return;
    sent = fresh.innerHTML;
    live.replaceChildren(...fresh.childNodes);
  };
  if ($("#waiting")) {
    const stream = new EventSource("/live");
    stream.addEventListener("open", () => { $("#offline").hidden = true; });
    stream.addEventListener("error", () => { $("#offline").hidden = false; });
    stream.addEventListener("state", (event) => {
      const { waiting } = JSON.parse(JSON.parse(event.data)), count = $("#waiting");
      count.textContent = waiting; count.hidden = waiting === "0";
    });
    stream.addEventListener("changed", (event) => {
      const topic = JSON.parse(event.data);
      if (topic === live?.dataset.live) reload();
      document.dispatchEvent(new CustomEvent("changed", { detail: topic }));
    });
    if (live?.dataset.live === "tick") setInterval(reload, 4000);
    addEventListener("pagehide", () => stream.close());
  }

  /* Charts */
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const plots = () => all("[data-plot]").forEach((figure) => {
    if (!window.uPlot) return;
    const data = JSON.parse($(`#${figure.dataset.plot}`).textContent), bars = Boolean(data.bars), short = data.labels.length < 8;
    const day = { timeZone: "UTC", day: "numeric", ...(short ? { weekday: "short" } : { month: "short" }) };
    const names = data.labels.map((each) => new Date(each).toLocaleDateString(language, day));
    const axis = { stroke: color("--soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font: `12px ${color("--sans")}` };
    const whole = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((each) => each * 10 ** power)).flat();
    const scales = [...new Set(data.series.map((each) => each.scale ?? "y"))];
    const dollars = (value) => `$${value.toLocaleString(language, { minimumFractionDigits: value % 1 ? 2 : 0, maximumFractionDigits: 2 })}`;
    const series = data.series.map((each, index) => ({
      label: each.label, scale: each.scale ?? "y", stroke: color(`--s${index}`), width: 2, points: { show: names.length < 2 },
      fill: bars && !each.scale ? color(`--s${index}`) : index ? undefined : `${color("--s0")}22`,
      paths: bars && !each.scale ? uPlot.paths.bars({ size: [0.36, 40], align: index ? 1 : -1, radius: 0.15 }) : undefined,
    }));
    const room = bars || names.length < 2 ? 0.6 : 0;
    figure.replaceChildren();
    new uPlot({ legend: { live: false }, width: figure.clientWidth, height: Math.max(130, figure.clientHeight - 32), series: [{}, ...series],
      scales: { x: { time: false, range: (_u, low, high) => [low - room, high + room] }, ...Object.fromEntries(scales.map((scale) => [scale, { range: (_u, _low, high) => [0, Math.max(high * 1.1, 1e-9)] }])) },
      axes: [{ ...axis, size: 28, grid: bars ? { show: false } : axis.grid, space: 64, values: (_u, splits) => splits.map((at) => names[at] ?? ""), incrs: short ? [1] : [1, 2, 7, 14, 28] },
        ...scales.map((scale, index) => ({ ...axis, scale, side: index ? 1 : 3, size: 64, grid: index ? { show: false } : axis.grid, incrs: scale === "$" ? whole.map((each) => each / 100) : whole,
          values: (_u, splits) => splits.map((each) => scale === "$" ? dollars(each) : compact.format(each)) }))],
    }, [names.map((_, index) => index), ...data.series.map((each) => each.values)], figure);
    figure.setAttribute("role", "img");
    figure.setAttribute("aria-label", data.series.map((each) => `${each.label}: ${each.values.map((value, at) => `${names[at]} ${value.toLocaleString(language)}`).join(", ")}`).join("; "));
  });
  /* What is wider than the screen is scrolled with keys, too. */
  const scrolls = () => all(".scroll, .tall").forEach((each) => {
    if (each.scrollWidth > each.clientWidth || each.scrollHeight > each.clientHeight) each.tabIndex = 0;
    else each.removeAttribute("tabindex");
  });
  const fit = () => { plots(); scrolls(); };
  addEventListener("resize", () => { clearTimeout(fit.later); fit.later = setTimeout(fit, 150); });
  localize();
  fit();
})();
