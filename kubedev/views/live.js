// Appended to picture.js. The same script serves a widget (anywidget calls `render`) and recorded frames in a page
// without a kernel.

/** Recorded frames in a page without a kernel. Their data are JSON, packed where many pages have to be small. */
async function mountFrames(root) {
  root.dataset.ready = "yes";
  const data = root.querySelector("script[type^='application/']");
  if (data.type === "application/json") return showFrames(root, JSON.parse(data.textContent));
  const packed = Uint8Array.from(atob(data.textContent), (character) => character.charCodeAt(0));
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  showFrames(root, await new Response(plain).json());
}

/** Back, forward, and a slider. */
function showFrames(root, { first, steps, words }) {
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
  go(Number(root.dataset.start));
}

export default {
  render({ model, el }) {
    el.classList.add("kd", "kubedev");
    const whole = model.get("whole");
    new View(element("div", "kd-stage", el)).show(whole.document, whole.table);
    setTimeout(() => nameControls(el.closest(".kubedev-panel")), 500); // when they are there, too
  },
};

for (const root of document.querySelectorAll("[data-kubedev-frames]:not([data-ready])")) mountFrames(root);
