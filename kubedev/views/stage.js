// Appended to picture.js: the stage. The page holds every picture of a run as patches, plays them while they are
// seen, and tells the kernel where the reader is and what the reader does. All views of one model show the same.

const PACE = 800; // milliseconds a message is shown, at speed 1
const SPEEDS = [0.5, 1, 4];
const APART = 10; // pixels between two labels over the slider
const TELL = 60; // milliseconds: a slider that is dragged tells the kernel no more often

/** Whether the reader wants nothing to move by itself. */
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** What all views of one stage share: the run, the frame on show, and whether it plays. */
class Run {
  constructor(whole, send, save) {
    Object.assign(this, { send, save, views: new Set(), seen: new Set(), playing: false, speed: 1, touched: -Infinity });
    this.take(whole);
    this.recorded = Boolean(whole.saved);
    if (this.recorded) this.at = this.last;
    this.told = this.at;
    if (whole.play && this.at < this.last && !calm()) this.play();
  }

  take(whole) {
    this.whole = whole;
    this.number = whole.number;
    this.docs = [whole.first];
    for (const step of whole.steps) this.docs.push(apply(this.docs.at(-1), step));
    this.at = Math.min(whole.at, this.last);
    this.move ??= whole.move;
  }

  get last() {
    return this.docs.length - 1;
  }

  /** Where the reader is: at the end is at the end of the kernel's run, though the page may not have all of it yet. */
  get here() {
    return { at: this.at, end: this.at >= this.last };
  }

  /** A change from the kernel: fewer frames, more frames, or another of the fields. */
  change(update) {
    if (update.number <= this.number) return;
    if (update.whole) this.take(update.whole);
    else if (update.number !== this.number + 1) return this.send({ want: "whole" });
    this.number = update.number;
    const { whole } = this;
    const wasLast = this.at >= this.last;
    for (const name of ["mode", "play", "code", "ghost", "report", "since"]) {
      if (name in update) whole[name] = update[name];
    }
    if ("graph" in update) this.graph = update.graph;
    if ("keep" in update) {
      this.docs.length = whole.ticks.length = update.keep;
      whole.steps.length = Math.max(update.keep - 1, 0);
      if (update.first) this.docs.push((whole.first = update.first));
      for (const step of update.steps) {
        this.docs.push(apply(this.docs.at(-1), step));
        whole.steps.push(step);
      }
      whole.ticks.push(...update.ticks);
    }
    const own = update.move < this.move; // the reader has moved on meanwhile
    if ("at" in update && !own) {
      this.at = this.told = Math.min(update.at, this.last);
      this.playing = false;
    } else if ("keep" in update || update.resume) {
      const cut = this.at > this.last || this.at >= update.keep; // what was on show is another picture now
      if ("begin" in update && !own) this.at = update.begin;
      this.at = Math.min(this.at, this.last);
      const follows = wasLast || cut || this.acted || this.playing || update.resume;
      if (follows && (!whole.play || calm())) this.at = this.last;
      if (follows && this.at < this.last) this.play();
      else if (this.at >= this.last) this.pause(); // there is nothing more to play
      if (follows) this.told = this.last; // the kernel is at the end of its run
      this.acted = false;
    }
    this.show();
  }

  show() {
    for (const view of this.views) view.show();
    clearTimeout(this.saving);
    this.saving = setTimeout(() => this.save(this.kept()), 700);
  }

  /** The reader goes to a frame. */
  go(at) {
    this.pause();
    this.set(Math.min(Math.max(at, 0), this.last));
  }

  set(at) {
    const looking = this.told !== this.last || !this.playing;
    this.at = at;
    if (looking) this.tell();
    this.show();
  }

  tell() {
    if (this.recorded || this.told === this.at) return;
    this.told = this.at;
    this.move += 1;
    clearTimeout(this.telling);
    this.telling = setTimeout(() => this.send({ ...this.here, move: this.move }), TELL);
  }

  play() {
    if (this.at >= this.last) this.set(Math.min(this.whole.since, this.last - 1) || 0);
    this.playing = true;
    this.wait();
    this.show();
  }

  pause() {
    this.playing = false;
    clearTimeout(this.timer);
  }

  /** Show the next frame when this one was seen long enough; where nobody looks, wait. */
  wait() {
    clearTimeout(this.timer);
    if (!this.playing || !this.seen.size) return;
    this.timer = setTimeout(() => {
      if (!this.playing || !this.seen.size) return;
      if (this.at < this.last) this.set(this.at + 1);
      if (this.at >= this.last) this.playing = false;
      this.show();
      this.wait();
    }, PACE / this.speed);
  }

  act(action, control) {
    if (this.recorded) return;
    // Who presses while it plays means the present; going back is what one does on purpose.
    if (this.playing || performance.now() - this.touched < 1000) this.at = this.last;
    this.pause();
    clearTimeout(this.telling);
    this.move += 1;
    this.told = this.at;
    this.acted = true;
    this.whole.report = null;
    this.send({ act: action, ...this.here, control, move: this.move });
    this.show();
  }

  /** What a notebook saves: the last frames that fit, and that this is a recording. */
  kept() {
    const { whole } = this;
    const sizes = whole.steps.map((step) => JSON.stringify(step).length);
    let from = this.last;
    let room = whole.limit - JSON.stringify(this.docs[from]).length - 40_000; // the script, words and code
    while (from > 0 && room > sizes[from - 1]) room -= sizes[--from];
    while (from < this.last && JSON.stringify(this.docs[from]).length > room + 20_000) room += sizes[from++];
    return {
      ...whole,
      first: this.docs[from],
      steps: whole.steps.slice(from),
      ticks: whole.ticks.slice(from),
      at: this.last - from,
      since: Math.max(whole.since - from, 0),
      ghost: null,
      report: null,
      play: false,
      saved: true,
      dropped: from,
      number: this.number,
    };
  }
}

const ICONS = {
  start: "M5 4v12M16 4L8 10l8 6z",
  back: "M12 4L5 10l7 6zM15 4v12",
  play: "M6 3l11 7-11 7z",
  pause: "M6 4v12M14 4v12",
  forward: "M8 4l7 6-7 6zM5 4v12",
  end: "M15 4v12M4 4l8 6-8 6z",
  replay: "M15 6a6.5 6.5 0 1 0 1.5 5M16 2v5h-5",
};

function icon(name) {
  return `<svg viewBox="0 0 20 20" aria-hidden="true"><path d="${ICONS[name]}"/></svg>`;
}

/** One view of a run: picture, transport, mode line, folds. */
class StageView {
  constructor(run, root) {
    this.run = run;
    this.root = root;
    const { words } = run.whole;
    root.classList.add("kd", "kubedev", "kd-theatre");
    root.setAttribute("role", "region");
    root.setAttribute("aria-label", words.name);
    root.tabIndex = 0;
    const acts = run.whole.acts && !run.recorded;
    const act = (text, control) => {
      const action = text.startsWith("{") ? JSON.parse(text) : { do: text };
      const form = run.whole.forms[action.do];
      if (form) this.ask(form, action, control);
      else run.act(action, control);
    };
    this.scene = element("div", "kd-stage", root);
    this.picture = new View(this.scene, acts ? act : undefined);
    this.callout = element("div", "kd-callout", this.scene);
    this.form = element("form", "kd-callout kd-form", this.scene);
    this.form.hidden = true;
    this.makeTransport(words);
    this.makeFolds(words);
    root.addEventListener("keydown", (event) => this.key(event));
    this.picture.scroll.addEventListener("pointerdown", () => {
      if (run.playing) run.touched = performance.now();
      if (run.playing) (run.pause(), run.show());
    });
    this.watch = new IntersectionObserver(([entry]) => this.look(entry), { threshold: [0, 0.3, 0.6, 0.9, 1] });
    this.watch.observe(this.picture.svg);
    this.measure = new ResizeObserver(() => this.resized());
    this.measure.observe(root);
    run.views.add(this);
    this.show();
  }

  makeTransport(words) {
    const { run } = this;
    this.bar = element("div", "kd-transport", this.root);
    const buttons = element("div", "kd-buttons", this.bar);
    const press = (name, does) => {
      const made = element("button", "", buttons);
      made.innerHTML = icon(name);
      made.ariaLabel = made.title = words[name];
      made.onclick = does;
      return made;
    };
    this.start = press("start", () => run.go(0));
    this.back = press("back", () => run.go(run.at - 1));
    this.toggle = press("play", () => (run.playing ? (run.pause(), run.tell(), run.show()) : run.play()));
    this.toggle.className = "primary";
    this.forward = press("forward", () => run.go(run.at + 1));
    this.end = press("end", () => run.go(run.last));
    this.replay = press("replay", () => (run.set(Math.min(run.whole.since, Math.max(run.last - 1, 0))), run.play()));
    const line = element("div", "kd-line", this.bar);
    this.rail = element("div", "kd-rail", line);
    this.slider = element("input", "", line);
    Object.assign(this.slider, { type: "range", min: 0, ariaLabel: words.history });
    this.slider.oninput = () => run.go(Number(this.slider.value));
    const speeds = element("div", "kd-speed", this.bar);
    speeds.setAttribute("role", "group");
    speeds.setAttribute("aria-label", words.speed);
    this.speeds = SPEEDS.map((speed) => {
      const made = element("button", "", speeds);
      made.textContent = speed === 0.5 ? "½×" : `${speed}×`;
      made.ariaLabel = `${words.speed} ${made.textContent}`;
      made.onclick = () => ((run.speed = speed), run.wait(), run.show());
      return made;
    });
    this.mode = element("div", "kd-mode", this.bar);
    this.modeWord = element("b", "", this.mode);
    this.where = element("span", "kd-where", this.mode);
    this.modeButton = element("button", "", this.mode);
    this.about = element("span", "kd-about", this.mode);
    this.clock = element("span", "kd-clock", this.mode);
    this.clockWord = element("span", "", this.clock);
    this.acts = run.whole.bar.map(([label, action]) => {
      const made = element("button", "", this.clock);
      made.textContent = label;
      made.onclick = () => run.act(action, "");
      return made;
    });
  }

  makeFolds(words) {
    const folds = element("div", "kd-folds", this.root);
    this.picture.summary.textContent = words.table;
    folds.append(this.picture.details);
    this.codeFold = element("details", "", folds);
    element("summary", "", this.codeFold).textContent = words.code;
    this.code = element("pre", "", this.codeFold);
    if (this.run.whole.graphs && !this.run.recorded) {
      this.graphFold = element("details", "kd-graph", folds);
      element("summary", "", this.graphFold).textContent = words.graph;
      this.graph = new View(element("div", "", this.graphFold));
      this.graph.details.remove();
      this.graphFold.append(this.graph.details);
      this.graphFold.ontoggle = () => this.askGraph();
    }
    element("span", "kd-keys", folds).textContent = words.keys;
  }

  /** The kernel draws the graph behind the frame on show, where somebody looks at it. */
  askGraph() {
    const { run } = this;
    if (!this.graphFold?.open || run.playing || run.docs[run.at] === this.graphOf) return;
    this.graphOf = run.docs[run.at];
    run.send({ graph: run.at });
  }

  key(event) {
    const { run } = this;
    const to = { ArrowLeft: run.at - 1, ArrowRight: run.at + 1, Home: 0, End: run.last }[event.key];
    const typing = event.target.matches("input:not([type=range]), select, textarea");
    if (typing || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (to !== undefined && run.last > 0 && !event.target.matches(".kd-slider")) run.go(to);
    else if (event.key === " " && event.target === this.root) this.toggle.click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Only what can be seen plays. */
  look({ intersectionRatio, intersectionRect, rootBounds }) {
    const most = intersectionRatio >= 0.6 || intersectionRect.height >= 0.6 * (rootBounds?.height ?? Infinity);
    const { seen } = this.run;
    if (most === seen.has(this)) return;
    if (most) seen.add(this);
    else seen.delete(this);
    this.run.wait();
    this.run.show();
  }

  resized() {
    const width = this.root.clientWidth;
    this.bar.classList.toggle("narrow", width < 820);
    if (width && width !== this.width) {
      this.width = width;
      this.labels();
      if (!this.run.recorded) this.run.send({ width });
    }
  }

  show() {
    const { run } = this;
    const { whole, at, last } = run;
    const { words } = whole;
    const doc = run.docs[at];
    if (doc !== this.doc) {
      this.doc = doc;
      this.picture.show(doc);
      this.picture.svg.style.minWidth = `${0.92 * doc.head[3]}px`;
    }
    this.bar.hidden = last === 0 && whole.mode === "plain" && !run.recorded;
    this.slider.max = Math.max(last, 1);
    this.slider.value = at;
    this.slider.disabled = last === 0;
    const where = words.of.replace("{at}", at).replace("{last}", last);
    this.slider.setAttribute("aria-valuetext", where);
    this.start.disabled = this.back.disabled = at === 0;
    this.forward.disabled = this.end.disabled = at === last;
    this.toggle.disabled = this.replay.disabled = last === 0;
    const now = run.playing ? "pause" : "play";
    if (this.toggle.ariaLabel !== words[now]) {
      this.toggle.innerHTML = icon(now);
      this.toggle.ariaLabel = this.toggle.title = words[now];
    }
    SPEEDS.forEach((speed, index) => this.speeds[index].setAttribute("aria-pressed", speed === run.speed));
    this.rail.style.setProperty("--at", last ? at / last : 0);
    this.labels();
    this.showMode(where);
    if (this.code.textContent !== whole.code) this.code.textContent = whole.code;
    this.codeFold.hidden = !whole.code;
    this.clockWord.textContent = whole.ticks[at]?.[2] ?? "";
    for (const button of this.acts) button.disabled = run.recorded || whole.mode === "closed";
    this.showReport();
    this.askGraph();
    if (this.graph && run.graph && run.graph !== this.graphShown) this.graph.show((this.graphShown = run.graph), words.table);
  }

  /** The mode line: what acting here means, and the one way out of it. */
  showMode(where) {
    const { run } = this;
    const { whole, at, last } = run;
    const { words } = whole;
    const kind = run.recorded ? "recording" : run.playing ? (run.seen.size ? "playing" : "waiting") : at < last ? "looking" : whole.mode;
    const plain = whole.mode === "plain" && kind !== "recording";
    this.mode.dataset.mode = kind;
    this.modeWord.textContent = kind === "recording" || plain ? "" : words[kind];
    this.where.textContent = at < last || plain ? where : "";
    const about = kind === "recording" ? words.recording : kind === "looking" && whole.mode === "closed" ? "" : words[`${kind}.about`];
    const dropped = kind === "recording" && whole.dropped ? ` ${words.dropped}` : "";
    this.about.textContent = plain ? "" : (about ?? "").replace("{at}", whole.ghost?.from ?? "") + dropped;
    const does = plain || run.recorded ? [] : this.ways(kind);
    this.modeButton.hidden = !does.length;
    [this.modeButton.textContent, this.modeButton.onclick] = does.length ? does : ["", null];
  }

  ways(kind) {
    const { run } = this;
    const { mode, words } = run.whole;
    if (["looking", "playing", "waiting"].includes(kind)) return [mode === "live" ? words["to-live"] : words["to-end"], () => run.go(run.last)];
    if (kind === "fork") return [words["go-live"], () => run.act({ do: "go_live" }, "")];
    return [];
  }

  /** Dots for messages, wedges for what the reader did, squares for health; labels where there is room. */
  labels() {
    const { whole, last, at } = this.run;
    const wide = this.rail.clientWidth;
    const key = `${whole.ticks.length}/${this.run.number}/${wide}/${whole.ghost?.count}`;
    if (key !== this.drawnRail) {
      this.drawnRail = key;
      const dense = wide / Math.max(last, 1) < 7;
      const edge = this.rail.getBoundingClientRect().right + 16;
      let free = -Infinity;
      this.rail.replaceChildren(element("i", "done"));
      whole.ticks.forEach(([kind, label], index) => {
        if (dense && kind === "message") return;
        const tick = element("i", kind, this.rail);
        const share = last ? index / last : 0;
        tick.style.left = `${100 * share}%`;
        tick.dataset.at = index;
        if (!label) return;
        const words = element("em", "", tick);
        words.textContent = label;
        const { left, right } = words.getBoundingClientRect();
        const over = Math.max(right - edge, 0);
        if (over) words.style.transform = `translateX(calc(-50% - ${over}px))`;
        if (left - over < free) words.remove(); // what it says is said by the picture, too
        else free = right - over + APART;
      });
      if (whole.ghost) this.drawGhost(whole.ghost, last);
    }
    for (const tick of this.rail.querySelectorAll("i[data-at]")) tick.classList.toggle("to-come", tick.dataset.at > at);
  }

  /** The run that a fork left, dotted, below: one press goes back to it. */
  drawGhost({ from, count }, last) {
    const ghost = element("button", "kd-ghost", this.rail);
    const share = from / Math.max(last, 1);
    if (share < 0.6) ghost.style.left = `${100 * share}%`;
    else ghost.style.right = "0";
    ghost.textContent = `${"∘ ".repeat(Math.min(count, 6))}${this.run.whole.words["back-to-live"]}`;
    ghost.onclick = () => this.run.act({ do: "back_to_live" }, "");
  }

  /** Ask for what an action needs, at the control that wants it; what was typed stays until it is done. */
  ask(form, { do: _, ...about }, control) {
    const { run } = this;
    const open = this.form.hidden || this.form.dataset.control !== control;
    this.form.hidden = !open;
    if (!open || this.form.dataset.control === control) return open && this.place(this.form, control);
    this.form.replaceChildren();
    this.form.dataset.control = control;
    for (const { name, label, kind, value, options } of form.fields) {
      const line = element("label", kind, this.form);
      element("span", "", line).textContent = label;
      const field = element(kind === "area" ? "textarea" : "input", "", line);
      Object.assign(field, { name, value });
      if (kind === "area") field.rows = 9;
      else field.type = kind;
      field.dataset.lmSuppressShortcuts = "true";
      if (!options.length) continue;
      const list = element("datalist", "", line);
      list.id = `kd-${Math.random().toString(36).slice(2)}`;
      for (const option of options) list.append(new Option(option));
      field.setAttribute("list", list.id);
    }
    const press = element("button", "primary", this.form);
    press.textContent = form.press;
    const close = element("button", "kd-close", this.form);
    Object.assign(close, { type: "button", textContent: "✕", ariaLabel: run.whole.words.close });
    close.onclick = () => (this.form.hidden = true);
    this.form.onsubmit = (event) => {
      event.preventDefault();
      const given = [...this.form.querySelectorAll("[name]")].map((f) => [f.name, f.type === "number" ? Number(f.value) : f.value]);
      run.act({ ...about, ...form.action, ...Object.fromEntries(given) }, control);
      this.form.hidden = true;
    };
    this.place(this.form, control);
    this.form.querySelector("input, textarea").focus();
  }

  /** Put a box below the control that caused it, pointing at it. */
  place(box, control) {
    const cause = control && this.picture.svg.querySelector(`[data-k="${CSS.escape(control)}"]`);
    const scene = this.scene.getBoundingClientRect();
    const at = (cause || this.picture.svg).getBoundingClientRect();
    const left = Math.min(Math.max(at.left - scene.left - 12, 0), Math.max(scene.width - box.offsetWidth, 0));
    box.style.left = `${left}px`;
    const below = at.bottom - scene.top + 9;
    const room = scene.height - box.offsetHeight;
    const above = at.top - scene.top - box.offsetHeight - 9;
    box.classList.toggle("above", Boolean(cause) && below > room && above > 0);
    box.style.top = `${cause ? (below > room && above > 0 ? above : below) : at.top - scene.top}px`;
    box.style.setProperty("--point", `${at.left - scene.left + Math.min(at.width, 60) / 2 - left - 6}px`);
    box.classList.toggle("points", Boolean(cause));
  }

  /** What was refused, or is to be noted, at the control that caused it. */
  showReport() {
    const { report, words } = this.run.whole;
    if (report === this.report) return;
    if (!report && this.callout.parentNode === this.form) this.form.hidden = true; // what was asked for is done
    this.report = report;
    this.callout.replaceChildren();
    this.callout.hidden = !report;
    if (!report) return;
    this.callout.classList.toggle("error", report.error);
    this.callout.setAttribute("role", report.error ? "alert" : "status");
    element("b", "", this.callout).textContent = report.error ? words.refused : words.note;
    element("p", "", this.callout).textContent = report.text;
    const close = element("button", "", this.callout);
    Object.assign(close, { className: "kd-close", textContent: "✕", ariaLabel: words.close });
    close.onclick = () => ((this.run.whole.report = null), this.run.show());
    const inside = report.error && report.control === this.form.dataset.control;
    (inside ? this.form : this.scene).append(this.callout);
    if (inside) (this.form.hidden = false), this.place(this.form, report.control);
    else this.place(this.callout, report.control);
  }

  close() {
    this.watch.disconnect();
    this.measure.disconnect();
    this.run.views.delete(this);
    this.run.seen.delete(this);
    this.run.wait();
  }
}

const runs = new Map(); // by the id of the stage: every view has a model object of its own

export default {
  /** Once for all views: what they share lives as long as the widget does. */
  initialize({ model }) {
    const whole = structuredClone(model.get("whole"));
    const save = (kept) => model.set("whole", kept); // in the page alone: saved with the notebook, never sent
    const run = new Run(whole, (content) => model.send(content), save);
    runs.set(whole.id, run);
    model.on("change:update", () => run.change(model.get("update")));
    return () => runs.delete(whole.id);
  },

  render({ model, el }) {
    const view = new StageView(runs.get(model.get("whole").id), element("div", "", el));
    setTimeout(() => nameControls(el.closest(".kubedev-panel")), 500); // when they are there, too
    return () => view.close();
  },
};
