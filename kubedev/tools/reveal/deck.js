// Lays the blocks of each section out on slides of 1280 by 720 pixels, then starts reveal.js.

const HEIGHT = 720;
const PICTURE_WIDTH = 1240;
const PICTURE_DRAWN = 720; // pictures are drawn this wide for slides, so that their text of 14 px is 24 px
const TOP = 76; // where a slide begins, below the name of its section
const EDGE = 10; // above and below a picture
const BAND = 92; // below a picture: its steps and its sentence
const LETTERS = 60; // of a sentence, that surely fit on a line
const STATEMENT = 420; // a slide of words that is lower than this is set larger
const TEXT_SIZES = [28, 24]; // of code and of what it prints; no text is smaller
const INDENT = 26; // of outputs
const POWERS = { size: 34 }; // an exponent is set at 0.7 of it
const TABLE_SIZES = [28, 26, 24];
const CHOICE_SIZES = [36, 32, 28, 24];
const INK = "#1b1f24"; // a chart is drawn for a light ground; where the page is dark, a filter turns it round

const workshop = document.createElement("div");
workshop.className = "workshop";
document.body.append(workshop);

function element(name, className, ...children) {
  const made = document.createElement(name);
  made.className = className;
  made.append(...children);
  return made;
}

/** A new, empty slide that can be measured. */
function newPage() {
  const page = element("section", "page");
  workshop.append(page);
  return page;
}

const fits = (page) => page.offsetHeight <= HEIGHT;
const isHeading = (node) => /^H[1-3]$/.test(node?.firstElementChild?.tagName);
const isList = (node) => node.querySelector(":scope > :is(ul, ol, table)");
const isWhole = (block) => block.matches(".picture, .chart, .image, .question");

/** Prose as one block for each heading, paragraph, list or table. */
function torn(block) {
  if (!block.matches(".prose")) return [block];
  return [...block.children].map((child) => {
    const part = element("div", block.className, child);
    if ("fragment" in block.dataset) part.dataset.fragment = "";
    return part;
  });
}

/** Spread blocks over as many slides as they need. */
function pagesOf(blocks) {
  const pages = [];
  let page = newPage();
  const turn = () => {
    if (page.children.length) pages.push(page);
    else page.remove();
    page = newPage();
  };
  const waiting = [...blocks];
  while (waiting.length) {
    const block = waiting.shift();
    if (isWhole(block) && page.children.length) turn();
    page.append(block);
    if (block.matches(".code")) fitText(block, TEXT_SIZES);
    if (block.matches(".output")) fitText(block, TEXT_SIZES);
    fitTable(block);
    if (isWhole(block)) {
      page.classList.add(block.matches(".picture") ? "full" : block.matches(".question") ? "asks" : "wide");
      if (block.matches(".question")) fitQuestion(block, page);
      const rest = block.matches(".picture") && trimPicture(block);
      turn();
      if (rest) waiting.unshift(rest);
    } else if (!fits(page)) {
      const rest = page.children.length === 1 || isLong(block, page) ? cut(block, page) : block;
      const carried = rest === block ? keptWith(block, page) : [];
      turn();
      waiting.unshift(...carried, ...(rest ? [rest] : []));
    }
  }
  turn();
  page.remove();
  return pages;
}

/** Whether a block would not fit on a slide of its own either, and there is room here to begin with it. */
const isLong = (block, page) => block.offsetHeight > HEIGHT - 180 && page.offsetHeight - block.offsetHeight < 380;

/** Take from a full slide its last block, and with it what must not stand there without it: heading, code, "namely:". */
function keptWith(block, page) {
  block.remove();
  const carried = [];
  const last = () => page.children[page.children.length - 1 - carried.length];
  if (block.matches(".output")) while (last()?.dataset.cell === block.dataset.cell) carried.unshift(last());
  else if (isHeading(last()) || (isList(block) && last().querySelector(":scope > p"))) carried.unshift(last());
  if (carried.length === page.children.length) return [];
  for (const kept of carried) kept.remove();
  return carried;
}

/** Cut a block that is higher than a slide after the last line, row or item that fits; the rest of it, if any. */
function cut(block, page) {
  const list = block.querySelector("tbody, ul, ol");
  const pre = block.querySelector("pre");
  if (!list && !pre) return null;
  const rest = block.cloneNode(true);
  if (list) {
    const other = rest.querySelector("tbody, ul, ol");
    other.replaceChildren();
    while (!fits(page) && list.children.length > 1) other.prepend(list.lastElementChild);
    if (list.matches("ol")) other.start = (list.start || 1) + list.children.length;
    return other.children.length ? rest : null;
  }
  const lines = pre.textContent.split("\n");
  let count = lines.length;
  while (!fits(page) && count > 1) pre.textContent = lines.slice(0, --count).join("\n");
  rest.querySelector("pre").textContent = lines.slice(count).join("\n");
  return count < lines.length ? rest : null;
}

/** The largest size at which no line is broken, or else lines are broken at the largest. */
function fitText(block, sizes) {
  const pre = block.querySelector("pre");
  if (!pre) return;
  pre.style.whiteSpace = "pre";
  for (const size of sizes) {
    pre.style.fontSize = `${size}px`;
    if (pre.scrollWidth <= pre.clientWidth) return;
  }
  pre.style.whiteSpace = "";
  pre.style.fontSize = "";
}

/** The largest size at which no cell of a table is broken, or else cells are broken at the second largest. */
function fitTable(block) {
  const table = block.querySelector("table:not(.kubedev table)");
  if (!table) return;
  table.style.width = "max-content";
  const size = TABLE_SIZES.find((size) => {
    table.style.fontSize = `${size}px`;
    return table.offsetWidth <= block.clientWidth - INDENT;
  });
  table.style.width = "";
  table.style.fontSize = `${size ?? TABLE_SIZES.at(-1)}px`;
}

/** The largest size at which a question with all its choices is on one slide. */
function fitQuestion(block, page) {
  for (const size of CHOICE_SIZES) {
    block.style.setProperty("--choice", `${size}px`);
    if (fits(page)) return;
  }
}

/**
 * Leave a picture's title out where there is no room for it. One that steps and is too high is looked at through a
 * window, which goes where something changes (show.js); of another one, the part that does not fit, as a picture of its
 * own.
 */
function trimPicture(block) {
  const [scene, svg, steps] = [".kd-scroll", "svg", ".kd-steps"].map((part) => block.querySelector(part));
  const { first, steps: later } = JSON.parse(block.querySelector("script[type='application/json']").textContent);
  const heads = [first.head, ...later.map((step) => step.head ?? step.whole?.head)].filter(Boolean);
  const width = Math.max(PICTURE_DRAWN, ...heads.map(([, , , width]) => width));
  const height = Math.max(...heads.map(([, , , , high]) => (high / width) * PICTURE_WIDTH));
  const sentence = block.querySelector(".kd-sentence");
  const longest = Math.max(...heads.map(([, said]) => said.length));
  const band = steps.hidden ? sentence.offsetHeight + 12 : Math.max(BAND, Math.ceil(longest / LETTERS) * 31 + 6);
  const room = HEIGHT - EDGE - band;
  for (const button of steps.querySelectorAll("button")) {
    button.setAttribute("aria-label", button.textContent);
    button.textContent = button.textContent.match(/[◀▶]/)[0];
  }
  block.style.setProperty("--band", `${band}px`);
  block.classList.toggle("tight", height + block.querySelector(".kd-title").offsetHeight > room);
  if (height <= room) return null;
  if (steps.hidden) return cutPicture(block, scene, svg, room);
  scene.style.cssText = `height: ${room}px; overflow: clip`;
  scene.dataset.room = room;
  return null;
}

/** Cut a picture of one frame where nothing is drawn, as evenly as can be; the lower part. */
function cutPicture(block, scene, svg, room) {
  const top = svg.getBoundingClientRect().top;
  const spans = [...svg.children].map((mark) => mark.getBoundingClientRect()).sort((a, b) => a.top - b.top);
  const [from, to] = [Number(scene.dataset.from ?? 0), svg.clientHeight];
  const middle = from + (to - from) / Math.ceil((to - from) / room);
  let [reached, best] = [0, 0];
  for (const span of spans) {
    const gap = (reached + span.top - top) / 2;
    const is = span.top - top > reached && gap > from && gap - from <= room;
    if (is && Math.abs(gap - middle) < Math.abs(best - middle)) best = gap;
    reached = Math.max(reached, span.bottom - top);
  }
  if (to - from > room && !best) {
    scene.style.cssText = `height: ${room}px; overflow: clip`; // there is no gap: going on moves a window down
    Object.assign(scene.dataset, { room, pan: "" });
    return null;
  }
  const end = to - from <= room ? to : best;
  scene.style.cssText = `height: ${end - from}px; overflow: clip`;
  svg.style.marginTop = `${-from}px`;
  if (end === to) return null;
  const rest = block.cloneNode(true);
  rest.querySelector(".kd-scroll").dataset.from = end;
  return rest;
}

function drawChart(block) {
  const { data, layout } = JSON.parse(block.querySelector("script").textContent);
  const font = { ...layout.font, size: Math.max(layout.font?.size ?? 0, 24), color: INK };
  const large = (part) => ({ ...part, font: { ...part?.font, size: 24 } });
  const axes = Object.keys(layout).filter((name) => /^[xy]axis/.test(name));
  const set = { font, width: 1136, height: 560, autosize: false, margin: { t: layout.title ? 70 : 20, r: 30 } };
  Object.assign(set, { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" });
  if (layout.title) set.title = large(layout.title);
  set.legend = { ...large(layout.legend), bgcolor: "rgba(0,0,0,0)" };
  set.annotations = layout.annotations?.map(large);
  for (const name of ["xaxis", "yaxis", ...axes]) {
    const axis = layout[name];
    const tickfont = axis?.type === "log" && !axis.ticktext ? POWERS : { size: 24 };
    set[name] = { ...axis, automargin: true, tickfont, ...(axis?.title && { title: { ...large(axis.title), standoff: 14 } }) };
  }
  const place = element("div", "");
  workshop.append(place); // where it can be measured
  return Plotly.newPlot(place, data, { ...layout, ...set }, { displayModeBar: false }).then(() =>
    block.append(place),
  );
}

/** Where a slide without a heading of its own belongs. */
function label(page, where) {
  if (!where || page.matches(".full, .asks") || isHeading(page.firstElementChild)) return;
  const bold = element("b", "");
  bold.textContent = where;
  page.prepend(element("p", "where", bold));
}

/** Few words are set larger, and what has no heading stands a little above the middle. */
function place(page) {
  if (page.matches(".full, .wide")) return;
  if (page.querySelector("h1")) page.classList.add("title");
  else if ([...page.children].every((block) => block.matches(".prose")) && page.offsetHeight < STATEMENT)
    page.classList.add("statement");
  if (!isHeading(page.firstElementChild)) page.style.paddingTop = `${TOP + 0.3 * Math.max(HEIGHT - page.offsetHeight, 0)}px`;
}

/** Lay out one authored sub-slide; what a speaker says about it goes with each of its slides. */
function layOut(section) {
  const pages = pagesOf([...section.children].filter((node) => node.matches(".block")).flatMap(torn));
  for (const page of pages) {
    const [, ...later] = page.children;
    for (const block of later) if ("fragment" in block.dataset) block.classList.add("fragment");
    place(page);
  }
  section.replaceWith(...pages);
  return pages;
}

/** Notes are about all slides since the notes before them. */
function spreadNotes(stack) {
  let since = [];
  for (const section of [...stack.children]) {
    const notes = [...section.children].filter((node) => node.matches(".notes"));
    since.push(...layOut(section));
    for (const page of notes.length ? since : []) page.append(...notes.map((note) => note.cloneNode(true)));
    if (notes.length) since = [];
  }
}

await document.fonts.ready;
const stacks = [...document.querySelectorAll(".slides > section")];
for (const block of document.querySelectorAll(".chart")) await drawChart(block);
for (const stack of stacks) {
  const where = stack.querySelector("h1, h2")?.textContent ?? "";
  spreadNotes(stack);
  for (const page of stack.children) label(page, where);
}
workshop.remove();

