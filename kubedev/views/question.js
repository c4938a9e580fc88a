// A prediction: each row is a group of choices, one of which can be chosen; locked, and seen.

const MARKS = {
  right: '<circle cx="9" cy="9" r="9"/><path d="M5 9.5l3 3 5.5-6.5" class="line"/>',
  wrong: '<path d="M9 1l8 8-8 8-8-8z" class="open"/><path d="M6.5 6.5l5 5m0-5l-5 5" class="line"/>',
  none: '<circle cx="9" cy="9" r="7.5" class="open"/>',
  lock: '<rect x="3" y="8" width="12" height="9" rx="2"/><path d="M5.5 8V6a3.5 3.5 0 0 1 7 0v2" class="open"/>',
};

const mark = (name) => `<svg viewBox="0 0 18 18" class="kd-mark ${name}" aria-hidden="true">${MARKS[name]}</svg>`;

function element(name, className, parent, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  parent?.append(made);
  return made;
}

const filled = (text, values) => text.replace(/{(\w+)}/g, (_, name) => values[name]);

/** The explanation that stands below in the notebook: the first fold in the next cells. */
function explanation(el) {
  let cell = el.closest(".jp-Cell");
  for (let next = 0; cell && next < 4; next++) {
    cell = cell.nextElementSibling;
    const fold = cell?.querySelector(".jp-MarkdownOutput details:not(:has(aside))");
    if (fold && /\?/.test(fold.querySelector("summary")?.textContent)) return fold;
  }
}

class Card {
  constructor(model, el) {
    this.model = model;
    this.el = el;
    el.className = "kd kubedev kd-question";
    el.tabIndex = -1; // what is pressed goes away with its state: the keyboard stays in the cell
    el.addEventListener("keydown", (event) => this.key(event));
    this.show();
  }

  /** A choice is shown at once; the kernel keeps it. */
  choose(name, index) {
    const card = this.model.get("card");
    if (card.locked || card.seen) return;
    this.model.set("card", { ...card, answers: { ...card.answers, [name]: index } });
    this.model.send({ choose: { [name]: index } });
  }

  key(event) {
    const choice = event.target.closest(".kd-choice");
    if (!choice) return;
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const row = [...choice.parentNode.children];
    if (by) {
      const to = row[(row.indexOf(choice) + by + row.length) % row.length];
      this.focus = [to.dataset.name, to.dataset.index];
      to.click();
    } else if (event.key === "Enter") {
      this.focus = [choice.dataset.name, choice.dataset.index];
      if (choice.ariaChecked !== "true") choice.click();
      this.el.querySelector(".kd-lock:not(:disabled)")?.click();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  show() {
    const card = this.model.get("card");
    const same = JSON.stringify(card);
    if (same === this.shown) return; // the kernel says what the page shows already: a press may be under way
    this.shown = same;
    const { question, rows, answers, locked, seen, words, sentence } = card;
    const { el } = this;
    const state = seen ? "seen" : locked ? "locked" : "choose";
    const was = el.dataset.state;
    el.dataset.state = state;
    const held = el.contains(document.activeElement);
    el.replaceChildren();
    const head = element("div", "kd-head", el);
    element("span", "kd-step", head, { choose: 1, locked: 2, seen: 3 }[state]);
    element("b", "", head, words[state]);
    if (seen) this.score(head, seen, words);
    element("p", "kd-asked", el, question);
    rows.forEach(([name, label, choices], at) => this.row(name, label, choices, answers[name], seen?.[at]));
    if (seen) {
      element("p", `kd-gap ${seen.every((row) => row.right) ? "right" : "wrong"}`, el, sentence);
      const why = explanation(el);
      const line = element("div", "kd-then", el);
      if (why) {
        const open = element("button", "", line, words.why);
        open.onclick = () => ((why.open = true), why.scrollIntoView({ block: "nearest" }));
        if (was && was !== state && seen.some((row) => !row.right)) why.open = true;
      }
      element("button", "", line, words.again).onclick = () => this.model.send({ lock: false });
    } else this.foot(rows, answers, locked, words);
    if (this.focus) el.querySelector(`[data-name="${CSS.escape(this.focus[0])}"][data-index="${this.focus[1]}"]`)?.focus();
    else if (held) el.focus({ preventScroll: true });
    this.focus = undefined;
  }

  /** Marks in the order of the rows, and how many are right. */
  score(head, seen, words) {
    const score = element("span", "kd-score", head);
    score.innerHTML = seen.map((row) => mark(row.right ? "right" : row.said === null ? "none" : "wrong")).join("");
    const right = seen.filter((row) => row.right).length;
    element("b", "", score, filled(words.score, { right, all: seen.length }));
  }

  row(name, label, choices, answer, seen) {
    const { locked, words } = this.model.get("card");
    const line = element("div", "kd-name", this.el);
    element("code", "", line, label);
    if (seen && seen.said !== null) {
      const verdict = element("b", seen.right ? "right" : "wrong", line);
      verdict.innerHTML = mark(seen.right ? "right" : "wrong");
      verdict.append(seen.right ? words.right : words.wrong);
    }
    const group = element("div", "kd-choices", this.el);
    group.setAttribute("role", "radiogroup");
    group.setAttribute("aria-label", label);
    choices.forEach((text, index) => {
      const chosen = answer === index;
      const is = seen?.is.includes(index);
      const choice = element("button", "kd-choice", group);
      choice.setAttribute("role", "radio");
      choice.ariaChecked = chosen;
      Object.assign(choice.dataset, { name, index });
      choice.tabIndex = chosen || (answer == null && index === 0) ? 0 : -1;
      choice.disabled = locked || Boolean(seen);
      choice.onclick = () => ((this.focus ??= [name, index]), this.choose(name, index));
      if (!seen) element("span", "kd-radio", choice).innerHTML = locked && chosen ? mark("lock") : "";
      element("span", "kd-text", choice, text);
      const note = is && chosen ? words["said-it"] : is ? words.is : seen && chosen ? words.said : "";
      if (note) element("small", "", choice, note);
      choice.classList.toggle("is", Boolean(is));
      choice.classList.toggle("missed", Boolean(seen) && chosen && !is);
    });
    if (seen?.other) element("p", "kd-other", this.el, `${words.is} ${seen.other}`);
  }

  foot(rows, answers, locked, words) {
    const missing = rows.filter(([name]) => answers[name] == null).map(([, label]) => label);
    const lock = element("button", `kd-lock ${locked ? "" : "primary"}`, this.el);
    lock.innerHTML = locked ? mark("lock") : "";
    lock.append(locked ? words["lock.done"] : words.lock);
    lock.disabled = locked || missing.length > 0;
    lock.onclick = () => this.model.send({ lock: true });
    const then = element("div", "kd-then", this.el);
    const open = filled(words.open, { count: missing.length, names: missing.join(", ") });
    element("b", "", then, locked ? words.next : missing.length ? open : words.ready);
    if (locked) element("button", "", then, words.unlock).onclick = () => this.model.send({ lock: false });
    else element("p", "", then, words.keys);
  }
}

export default {
  render({ model, el }) {
    const card = new Card(model, element("div", "", el));
    const show = () => card.show();
    model.on("change:card", show);
    return () => model.off("change:card", show);
  },
};
