"use strict";
/* The knowledge graph: a small layout by forces, drawn as SVG, that can be walked with pointer and keys. */
(() => {
  const svg = document.querySelector("#graph");
  if (!svg) return;
  const triples = JSON.parse(document.querySelector("#triples").textContent);
  const kinds = ["person", "place", "group", "thing", "event", "time", "idea"];
  const tall = svg.clientHeight > svg.clientWidth, [W, H] = tall ? [560, 900] : [900, 560];
  const nodes = new Map(), make = (name, of) => Object.entries(of).reduce((made, [key, value]) => (made.setAttribute(key, value), made), document.createElementNS("http://www.w3.org/2000/svg", name));
  const node = (name, kind) => {
    const key = name.toLowerCase();
    if (!nodes.has(key)) { const turn = nodes.size * 2.4; nodes.set(key, { name, kind, x: W / 2 + Math.cos(turn) * (40 + 6 * nodes.size), y: H / 2 + Math.sin(turn) * (30 + 4 * nodes.size), vx: 0, vy: 0, links: 0 }); }
    return nodes.get(key);
  };
  const edges = triples.map((each) => ({ from: node(each.subject, each.subject_kind), to: node(each.object, each.object_kind), each }));
  edges.forEach((edge) => { edge.from.links += 1; edge.to.links += 1; });
  const list = [...nodes.values()], rounds = list.length > 400 ? 60 : 320, near = list.length > 400 ? 60 : 1e9;
  for (let round = 0; round < rounds; round += 1) {
    const heat = 1 - round / rounds;
    for (let i = 0; i < list.length; i += 1) for (let j = i + 1; j < Math.min(list.length, i + near); j += 1) {
      const a = list[i], b = list[j]; let dx = a.x - b.x, dy = a.y - b.y; const d2 = Math.max(60, dx * dx + dy * dy), push = 9000 / d2;
      const d = Math.sqrt(d2); dx /= d; dy /= d; a.vx += dx * push; a.vy += dy * push; b.vx -= dx * push; b.vy -= dy * push;
    }
    edges.forEach(({ from, to }) => { const dx = to.x - from.x, dy = to.y - from.y, d = Math.max(1, Math.hypot(dx, dy)), pull = (d - 120) * 0.035; from.vx += dx / d * pull; from.vy += dy / d * pull; to.vx -= dx / d * pull; to.vy -= dy / d * pull; });
    list.forEach((each) => { each.vx += (W / 2 - each.x) * (tall ? 0.014 : 0.006); each.vy += (H / 2 - each.y) * (tall ? 0.006 : 0.014); each.x += Math.max(-14, Math.min(14, each.vx)) * heat; each.y += Math.max(-14, Math.min(14, each.vy)) * heat; each.vx *= 0.6; each.vy *= 0.6; });
  }
  edges.forEach((edge) => {
    edge.line = make("line", { x1: edge.from.x, y1: edge.from.y, x2: edge.to.x, y2: edge.to.y });
    edge.label = make("text", { x: (edge.from.x + edge.to.x) / 2, y: (edge.from.y + edge.to.y) / 2 - 3, "text-anchor": "middle", class: "rel" });
    edge.label.ranked = [edge.from, edge.to];
    edge.label.textContent = list.length <= 12 ? edge.each.relation : ""; svg.append(edge.line, edge.label);
  });
  /* A label that would cover another is put beside its node, or hidden where no side is free; the labels of these come first, then those with most links. */
  const settle = (first) => {
    const rank = (label) => 2 * label.ranked.some((each) => first.has(each)) + !label.classList.contains("rel"), placed = [];
    const links = (label) => Math.max(...label.ranked.map((each) => each.links));
    const labels = [...list.map((each) => each.label), ...edges.map((edge) => edge.label)].filter((label) => label.textContent);
    const crossed = ({ x, y, width, height }) => list.filter((each) => x < each.x + each.size && each.x - each.size < x + width && y < each.y + each.size && each.y - each.size < y + height).length;
    labels.sort((a, b) => rank(b) - rank(a) || links(b) - links(a)).forEach((label) => {
      const box = (spot) => { Object.entries(spot).forEach(([key, value]) => label.setAttribute(key, value)); return label.getBBox(); };
      const isFree = ({ x, y, width, height }) => !placed.some((other) => x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height);
      const free = (label.spots ?? [{}]).map((spot) => [spot, box(spot)]).filter(([, there]) => isFree(there)).sort(([, a], [, b]) => crossed(a) - crossed(b))[0];
      label.classList.toggle("covered", !free);
      if (free) placed.push(box(free[0]));
    });
  };
  const title = document.querySelector("#chosen"), facts = document.querySelector("#facts");
  const choose = (chosen) => {
    const about = edges.filter((edge) => edge.from === chosen || edge.to === chosen), kept = new Set([chosen, ...about.flatMap((edge) => [edge.from, edge.to])]);
    list.forEach((each) => { each.g.classList.toggle("dim", !kept.has(each)); each.g.classList.toggle("on", each === chosen); });
    edges.forEach((edge) => { edge.line.classList.toggle("on", about.includes(edge)); edge.line.classList.toggle("dim", !about.includes(edge)); edge.label.classList.toggle("dim", !about.includes(edge)); edge.label.textContent = about.includes(edge) ? edge.each.relation : ""; });
    settle(kept); title.textContent = chosen.name;
    facts.replaceChildren(...about.slice(0, 40).map(({ each }) => {
      const item = document.createElement("li"), says = document.createElement("span"); item.className = "small";
      [each.subject, each.object].forEach((name, index) => { const link = document.createElement("a"); link.href = `/graph?about=${encodeURIComponent(name)}`; link.textContent = name; item.append(link, index ? "" : ` ${each.relation} `); });
      says.className = "soft text"; says.textContent = each.says; item.append(document.createElement("br"), says); return item;
    }));
  };
  list.forEach((each) => {
    each.g = make("g", { tabindex: 0, role: "button", "aria-label": `${each.name}, ${each.kind}, ${each.links}` });
    const size = each.size = 7 + Math.min(9, Math.sqrt(each.links) * 3);
    const dot = make("circle", { cx: each.x, cy: each.y, r: size, class: `f${Math.max(0, kinds.indexOf(each.kind))}` }), name = make("text", { x: each.x, y: each.y + size + 3, "text-anchor": "middle", "dominant-baseline": "hanging" });
    each.label = name; name.ranked = [each];
    name.spots = [[0, 1, "middle", "hanging"], [0, -1, "middle", "auto"], [1, 0, "start", "central"], [-1, 0, "end", "central"]].map(([dx, dy, anchor, line]) => ({ x: each.x + dx * (size + 4), y: each.y + dy * (size + 3), "text-anchor": anchor, "dominant-baseline": line }));
    name.textContent = list.length > 150 && each.links < 3 ? "" : each.name.length > 26 ? `${each.name.slice(0, 25)}…` : each.name;
    each.g.append(dot, name); svg.append(each.g);
    each.g.addEventListener("click", () => choose(each));
    each.g.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(each); } });
  });
  settle(new Set());
  const { x: left, y: top, width, height } = svg.getBBox(), box = { x: left - 10, y: top - 10, w: width + 20, h: height + 20 };
  const view = () => svg.setAttribute("viewBox", `${box.x} ${box.y} ${box.w} ${box.h}`);
  view();
  addEventListener("resize", () => settle(new Set(list.filter((each) => each.g.classList.contains("on")))));
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const by = event.deltaY > 0 ? 1.12 : 1 / 1.12, at = svg.getBoundingClientRect(), px = (event.clientX - at.left) / at.width, py = (event.clientY - at.top) / at.height;
    box.x += box.w * px * (1 - by); box.y += box.h * py * (1 - by); box.w *= by; box.h *= by; view();
  }, { passive: false });
  let held = null;
  svg.addEventListener("pointerdown", (event) => { if (event.target === svg) held = { x: event.clientX, y: event.clientY }; });
  addEventListener("pointermove", (event) => { if (!held) return; const at = svg.getBoundingClientRect(); box.x -= (event.clientX - held.x) * box.w / at.width; box.y -= (event.clientY - held.y) * box.h / at.height; held = { x: event.clientX, y: event.clientY }; view(); });
  addEventListener("pointerup", () => { held = null; });
})();
