// Shows a document (see document.py) and changes it in place: a mark that keeps its key and gets another place is
// seen moving, a message travels along its way. The same script serves a live widget (anywidget calls `render`)
// and recorded frames in a page without a kernel.

const SVG = "http://www.w3.org/2000/svg";
const MOVE = 320; // milliseconds
const STREAM = 150; // updates closer than this are a stream: nothing is animated then

/** Apply a patch to a document and return the new document. */
export function apply(doc, patch) {
  if (patch.whole) return patch.whole;
  let marks = doc.marks;
  if (patch.gone) {
    const gone = new Set(patch.gone);
    marks = marks.filter(([key]) => !gone.has(key));
  }
  if (patch.set) {
    const order = new Map(marks);
    const after = new Map(); // key -> the new marks that follow it
    for (const [key, text, previous] of patch.set) {
      if (previous === undefined) order.set(key, text);
      else after.set(previous, [key, text]);
    }
    marks = [];
    const add = (key) => {
      for (let next = after.get(key); next; next = after.get(next[0])) marks.push(next);
    };
    add("");
    for (const [key, text] of order) {
      marks.push([key, text]);
      add(key);
    }
  }
  const tables = doc.tables.map((table) => [...table]);
  for (const [index, from, count, come] of patch.rows ?? []) {
    tables[index][2] = tables[index][2].toSpliced(from, count, ...come);
  }
  return { head: patch.head ?? doc.head, marks, tables };
}

function element(name, className, parent) {
  const made = document.createElement(name);
  if (className) made.className = className;
  parent?.append(made);
  return made;
}

/** The browser's side of one picture. */
class View {
  constructor(root, onAction) {
    root.replaceChildren();
    this.title = element("div", "kd-title", root);
    this.sentence = element("p", "kd-sentence", root);
    this.sentence.setAttribute("aria-live", "polite");
    this.scroll = element("div", "kd-scroll", root);
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("role", onAction ? "group" : "img");
    this.scroll.append(this.svg);
    this.details = element("details", "", root);
    this.summary = element("summary", "", this.details);
    this.tables = [];
    this.drawn = new Map(); // key -> { node, text }
    this.shownAt = -Infinity;
    if (onAction) {
      const act = (event) => {
        const mark = event.target.closest?.("[data-action]");
        if (!mark || (event.key && event.key !== "Enter" && event.key !== " ")) return;
        event.preventDefault();
        onAction(mark.dataset.action);
      };
      this.svg.addEventListener("click", act);
      this.svg.addEventListener("keydown", act);
    }
  }

  show(doc, tableWord) {
    const [title, sentence, alt, width, height] = doc.head;
    if (this.title.textContent !== title) this.title.textContent = title;
    if (this.sentence.textContent !== sentence) this.sentence.textContent = sentence;
    this.svg.setAttribute("aria-label", alt);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    if (tableWord) this.summary.textContent = tableWord;
    this.showMarks(doc.marks);
    this.showTables(doc.tables);
  }

  showMarks(marks) {
    const now = performance.now();
    const calm = now - this.shownAt > STREAM && !matchMedia("(prefers-reduced-motion: reduce)").matches;
    const animate = calm && this.drawn.size > 0;
    this.shownAt = now;
    const fresh = marks.filter(([key, text]) => this.drawn.get(key)?.text !== text);
    const workshop = document.createElementNS(SVG, "g");
    workshop.innerHTML = fresh.map(([, text]) => text).join("");
    const nodes = [...workshop.children];
    const focused = document.activeElement?.dataset?.k;
    fresh.forEach(([key, text], index) => {
      const before = this.drawn.get(key);
      const node = nodes[index];
      this.drawn.set(key, { node, text });
      if (before) before.node.replaceWith(node);
      if (animate) move(node, before, text);
    });
    const keys = new Set(marks.map(([key]) => key));
    for (const [key, { node }] of this.drawn) {
      if (keys.has(key)) continue;
      node.remove();
      this.drawn.delete(key);
    }
    let cursor = this.svg.firstChild;
    for (const [key] of marks) {
      const { node } = this.drawn.get(key);
      if (cursor === node) cursor = cursor.nextSibling;
      else this.svg.insertBefore(node, cursor);
    }
    if (focused && document.activeElement?.dataset?.k !== focused) this.drawn.get(focused)?.node.focus();
  }

  showTables(tables) {
    tables.forEach(([caption, columns, rows], index) => {
      let body = this.tables[index];
      if (!body || body.caption !== caption) body = this.newTable(index, caption, columns);
      rows.forEach((row, at) => {
        const text = row.join("\u0000");
        let line = body.rows[at];
        if (line?.dataset.text === text) return;
        line ??= body.insertRow();
        line.dataset.text = text;
        line.replaceChildren();
        for (const cell of row) line.insertCell().textContent = cell;
      });
      while (body.rows.length > rows.length) body.deleteRow(-1);
    });
  }

  newTable(index, caption, columns) {
    this.tables[index]?.closest("table").remove();
    const table = element("table", "", this.details);
    table.createCaption().textContent = caption;
    const head = table.createTHead().insertRow();
    for (const column of columns) {
      const cell = element("th", "", head);
      cell.scope = "col";
      cell.textContent = column;
    }
    const body = table.createTBody();
    body.caption = caption;
    this.tables[index] = body;
    return body;
  }
}

function place(node) {
  const found = /translate\(([-\d.]+) ([-\d.]+)\)/.exec(node.getAttribute("transform") ?? "");
  return found ? [Number(found[1]), Number(found[2])] : [0, 0];
}

function move(node, before, text) {
  const [x, y] = place(node);
  const here = `translate(${x}px,${y}px)`;
  const timing = { duration: MOVE, easing: "ease-out" };
  if (node.dataset.from && !before) {
    const [fromX, fromY] = node.dataset.from.split(" ");
    const start = { transform: `translate(${fromX}px,${fromY}px) scale(.7)`, opacity: 0.2 };
    node.animate([start, { transform: here, opacity: 1 }], timing);
    return;
  }
  if (!before) {
    node.animate([{ opacity: 0 }, { opacity: 1 }], timing);
    return;
  }
  const [oldX, oldY] = place(before.node);
  if (oldX !== x || oldY !== y) node.animate([{ transform: `translate(${oldX}px,${oldY}px)` }, { transform: here }], timing);
  const plain = (fragment) => fragment.replace(/ transform="[^"]*"/, "");
  if (plain(before.text) !== plain(text)) node.animate([{ opacity: 0.35 }, { opacity: 1 }], timing);
}

/** Recorded frames in a page without a kernel: back, forward, and a slider. */
function mountFrames(root) {
  root.dataset.ready = "yes";
  const { first, steps, words } = JSON.parse(root.querySelector("script[type='application/json']").textContent);
  const docs = [first];
  for (const step of steps) docs.push(apply(docs.at(-1), step));
  const stage = root.querySelector(".kd-stage");
  const view = new View(stage);
  const bar = element("div", "kd-steps", root);
  const back = element("button", "", bar);
  const slider = element("input", "", bar);
  const forward = element("button", "", bar);
  const where = element("output", "", bar);
  back.textContent = `◀ ${words.back}`;
  forward.textContent = `${words.forward} ▶`;
  Object.assign(slider, { type: "range", min: 0, max: docs.length - 1, value: 0 });
  slider.setAttribute("aria-label", words.history);
  const go = (to) => {
    const at = Math.min(Math.max(to, 0), docs.length - 1);
    slider.value = at;
    back.disabled = at === 0;
    forward.disabled = at === docs.length - 1;
    where.textContent = `${at + 1} / ${docs.length}`;
    view.show(docs[at], words.table);
  };
  back.onclick = () => go(Number(slider.value) - 1);
  forward.onclick = () => go(Number(slider.value) + 1);
  slider.oninput = () => go(Number(slider.value));
  bar.hidden = docs.length === 1;
  go(0);
}

const states = new WeakMap(); // widget model -> { number, doc, views }

function follow(model) {
  const state = { number: -1, doc: null, views: new Set() };
  states.set(model, state);
  const whole = model.get("whole");
  state.number = whole.number;
  state.doc = whole.document;
  model.on("change:update", () => {
    const { number, patch } = model.get("update");
    if (number <= state.number) return;
    if (number !== state.number + 1 && !patch.whole) {
      model.send({ want: "whole" });
      return;
    }
    state.number = number;
    state.doc = apply(state.doc, patch);
    for (const view of state.views) view.show(state.doc);
  });
  return state;
}

export default {
  render({ model, el }) {
    const state = states.get(model) ?? follow(model);
    el.classList.add("kd", "kubedev");
    const stage = element("div", "kd-stage", el);
    const view = new View(stage, (action) => model.send({ action }));
    view.show(state.doc, model.get("whole").table);
    state.views.add(view);
    return () => state.views.delete(view);
  },
};

for (const root of document.querySelectorAll("[data-kubedev-frames]:not([data-ready])")) mountFrames(root);
