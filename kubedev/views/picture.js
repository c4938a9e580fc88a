// Shows a document (see document.py) and changes it in place: a mark that keeps its key and gets another place is
// seen moving, a message travels along its way. What shows documents (live.js, stage.js) is appended to this.

const SVG = "http://www.w3.org/2000/svg";
const MOVE = 320; // milliseconds
const STREAM = 150; // updates closer than this are a stream: nothing is animated then

/** Apply a patch to a document and return the new document. */
function apply(doc, patch) {
  if (patch.whole) return patch.whole;
  let marks = doc.marks;
  if (patch.gone) {
    const gone = new Set(patch.gone);
    marks = marks.filter(([key]) => !gone.has(key));
  }
  if (patch.set) {
    const changed = new Map();
    const after = new Map(); // key -> the new mark that follows it
    for (const [key, place, text, previous] of patch.set) {
      if (previous === undefined) changed.set(key, [place, text]);
      else after.set(previous, [key, place, text]);
    }
    const old = marks;
    marks = [];
    const add = (key) => {
      for (let next = after.get(key); next; next = after.get(next[0])) marks.push(next);
    };
    add("");
    for (const [key, oldPlace, oldText] of old) {
      const [place, text] = changed.get(key) ?? [oldPlace];
      marks.push([key, place, text ?? oldText]);
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
    this.onAction = onAction;
    this.scroll.append(this.svg);
    this.details = element("details", "", root);
    this.summary = element("summary", "", this.details);
    this.tables = [];
    this.drawn = new Map(); // key -> { node, place, text }
    this.shownAt = -Infinity;
    if (onAction) {
      const act = (event) => {
        const mark = event.target.closest?.("[data-action]") ?? (event.key ? null : below(event, this.svg));
        if (!mark || (event.key && event.key !== "Enter" && event.key !== " ")) return;
        event.preventDefault();
        onAction(mark.dataset.action, mark.dataset.k);
      };
      this.svg.addEventListener("click", act);
      this.svg.addEventListener("keydown", act);
      this.svg.addEventListener("keydown", (event) => nudge(event, onAction));
      this.svg.addEventListener("pointerdown", (event) => drag(event, this.svg, onAction));
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
    const fresh = marks.filter(([key, , text]) => this.drawn.get(key)?.text !== text);
    const workshop = document.createElementNS(SVG, "g");
    workshop.innerHTML = fresh.map(([, , text]) => text).join("");
    const nodes = new Map([...workshop.children].map((node, index) => [fresh[index][0], node]));
    const focused = document.activeElement?.dataset?.k;
    for (const [key, place, text] of marks) {
      const before = this.drawn.get(key);
      const node = nodes.get(key) ?? before.node;
      if (before && before.node === node && before.place === place) continue;
      if (place) node.setAttribute("transform", `translate(${place})`);
      if (before && before.node !== node) before.node.replaceWith(node);
      if (this.onAction && node.dataset.action) asButton(node);
      if (this.onAction && node.dataset.handle) asButton(node);
      if (this.onAction && node.dataset.control && node !== before?.node) asControl(node, this.onAction);
      this.drawn.set(key, { node, place, text });
      if (animate) move(node, before, place, text);
    }
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

/** Let the keyboard reach a mark that does something; its tooltip is its name. */
function asButton(node) {
  node.setAttribute("tabindex", "0");
  node.setAttribute("role", "button");
  node.setAttribute("aria-label", node.querySelector("title")?.textContent ?? node.dataset.k);
}

/** The mark under the pointer that does something, though what it holds is drawn over it. */
function below({ clientX, clientY }, svg) {
  const marks = document.elementsFromPoint(clientX, clientY).map((node) => node.closest("[data-action]"));
  return marks.find((mark) => mark && svg.contains(mark));
}

/** Where a handle may go nearest to a place, as its action with `x` and `y`. */
function handled({ low, high, step, action }, place) {
  const [x, y] = place.map((v, i) => Math.min(high[i], Math.max(low[i], step[i] * Math.round(v / step[i]))));
  return { ...action, x, y };
}

/** Drag the handle under the pointer: what it does is told from step to step of its axes, and once more at the end. */
function drag(event, svg, onAction) {
  const node = event.target.closest?.("[data-handle]");
  if (!node) return;
  event.preventDefault();
  node.focus();
  const spot = JSON.parse(node.dataset.handle);
  const key = node.dataset.k;
  const [left, top, scale] = [event.clientX, event.clientY, 1 / svg.getScreenCTM().a];
  let told = JSON.stringify(handled(spot, spot.at));
  const tell = ({ clientX, clientY }, more) => {
    const moved = [(clientX - left) * scale, (clientY - top) * scale].map((v, i) => spot.at[i] + v / spot.unit[i]);
    const now = JSON.stringify(handled(spot, moved));
    if (now === told && more.dragging) return;
    told = now;
    onAction(JSON.stringify({ ...JSON.parse(now), ...more }), key);
  };
  const move = (at) => tell(at, { dragging: true });
  svg.setPointerCapture(event.pointerId);
  svg.addEventListener("pointermove", move);
  const end = (at) => {
    svg.removeEventListener("pointermove", move);
    tell(at, {});
  };
  svg.addEventListener("lostpointercapture", end, { once: true });
}

/** Move a handle one step with an arrow key. */
function nudge(event, onAction) {
  const node = event.target.closest?.("[data-handle]");
  const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
  if (!node || !way) return;
  event.preventDefault();
  event.stopPropagation();
  const spot = JSON.parse(node.dataset.handle);
  const place = spot.at.map((v, i) => v + way[i] * spot.step[i]);
  onAction(JSON.stringify(handled(spot, place)), node.dataset.k);
}

/** Put a real control where one is drawn; what was typed or chosen goes with its action as `value`. */
function asControl(node, onAction) {
  const { kind, width, height, label, action, ...data } = JSON.parse(node.dataset.control);
  const place = document.createElementNS(SVG, "foreignObject");
  place.setAttribute("width", width);
  place.setAttribute("height", height);
  const send = (value) => {
    const filled = Object.entries(value === undefined ? action : { ...action, value }).map(([name, given]) => [
      name,
      String(given).startsWith("=") ? valueOf(node, given.slice(1)) : given,
    ]);
    onAction(JSON.stringify(Object.fromEntries(filled)), node.dataset.k);
  };
  const control = element(kind === "button" ? "button" : kind === "choice" ? "select" : "input", `kd-${kind}`, place);
  control.dataset.value = node.dataset.k;
  if (kind !== "button") control.setAttribute("aria-label", label);
  control.title = node.querySelector("title")?.textContent ?? "";
  if (kind === "button") {
    control.textContent = label;
    control.disabled = data.disabled;
    control.classList.toggle("primary", data.primary);
    control.onclick = () => send();
  } else if (kind === "choice") {
    for (const option of data.options) control.add(new Option(option, option, false, option === data.value));
    control.onchange = () => action.do && send(control.value);
  } else if (kind === "entry") {
    Object.assign(control, { value: data.value, placeholder: label });
    control.onkeydown = (event) => event.key === "Enter" && send(control.value);
  } else {
    Object.assign(control, { type: "range", min: data.low, max: data.high, step: data.step, value: data.value });
    const left = width - 130;
    place.setAttribute("x", left);
    place.setAttribute("width", 130);
    control.onchange = () => send(Number(control.value));
  }
  const words = kind === "slider" ? [...node.querySelectorAll("text")] : [];
  node.replaceChildren(...words, place);
}

/** What is chosen or typed in another control of the same picture. */
function valueOf(node, key) {
  return node.ownerSVGElement?.querySelector(`[data-k="${CSS.escape(key)}"] [data-value]`)?.value ?? "";
}

const translation = (place) => (place ? `translate(${place.replace(/ |$/g, "px,").slice(0, -1)})` : "none");

function move(node, before, place, text) {
  const timing = { duration: MOVE, easing: "ease-out" };
  const here = translation(place);
  if (!before && node.dataset.from) {
    const start = { transform: `${translation(node.dataset.from)} scale(.7)`, opacity: 0.2 };
    node.animate([start, { transform: `${here} scale(1)`, opacity: 1 }], timing);
  } else if (!before) {
    node.animate([{ opacity: 0 }, { opacity: 1 }], timing);
  } else {
    if (before.place !== place) node.animate([{ transform: translation(before.place) }, { transform: here }], timing);
    if (before.text !== text) node.animate([{ opacity: 0.35 }, { opacity: 1 }], timing);
  }
}

/** Name the controls around a picture: ipywidgets leaves the handle of a slider, and lists, without a name. */
function nameControls(panel) {
  for (const control of panel?.querySelectorAll("select, input, [role=slider]") ?? []) {
    const label = control.closest(".jupyter-widgets").querySelector(".widget-label");
    control.ariaLabel ??= label?.textContent.trim() || control.title || label?.title;
  }
}
