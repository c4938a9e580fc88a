// Appended to deck.js: the slides are laid out. Shows them with reveal.js, steps their pictures, and prints them.

const printed = /print-pdf/.test(location.search);
if (printed) history.replaceState(null, "", location.pathname + location.hash); // reveal.js would lay them out again

const NO_MORE = () => {};
const reveal = new Reveal(document.querySelector(".reveal"), {
  width: 1280,
  height: HEIGHT,
  margin: 0,
  maxScale: 6,
  center: false,
  controls: false,
  hash: true,
  navigationMode: "linear",
  transition: "none",
  backgroundTransition: "none",
  viewDistance: 2,
  totalTime: 60 * Number(document.body.dataset.minutes),
  plugins: [RevealNotes],
  keyboard: {
    // Arrow keys, Space, Page Up and Page Down are what a remote sends; F5 and Escape as well.
    39: onward, 32: (event) => (event?.shiftKey ? backward() : onward()), 34: onward, 76: onward,
    37: backward, 33: backward, 72: backward,
    38: () => pan(-1), 40: () => pan(1), 75: () => pan(-1), 74: () => pan(1),
    78: () => reveal.next(), 80: () => reveal.prev(),
    13: () => step(1), 8: () => step(-1),
    84: turnLight,
    116: () => (document.fullscreenElement ? NO_MORE() : document.documentElement.requestFullscreen()),
  },
});
await reveal.initialize();

// The steps of the picture on show: going on steps it first, going back steps it back

const stepsOf = (page) => page?.querySelector(".kd-steps:not([hidden]) input");

/** On: what is still to come on this slide, the next step of its picture, then the next slide. */
function onward() {
  if (reveal.availableFragments().next || !(step(1) || further(1))) reveal.next();
}

function backward() {
  if (!(step(-1) || further(-1))) reveal.prev();
}

/** Whether there was more of a picture that is only higher than the slide. */
function further(by) {
  const scene = reveal.getCurrentSlide()?.querySelector("[data-pan]");
  const before = scene?.dataset.at ?? 0;
  if (scene) look(scene, Number(before) + by * 0.8 * Number(scene.dataset.room));
  return Boolean(scene) && Number(scene.dataset.at) !== Number(before);
}

/** Whether the picture on show had such a step. */
function step(by) {
  const slider = stepsOf(reveal.getCurrentSlide());
  const at = Number(slider?.value) + by;
  if (!slider || at < 0 || at > Number(slider.max)) return false;
  setStep(slider, at);
  const audience = window.parent.opener; // this is the speaker's copy: the audience sees the same step
  audience?.postMessage(JSON.stringify({ namespace: "kubedev", at }), "*");
  return true;
}

function setStep(slider, at) {
  slider.value = at;
  slider.dispatchEvent(new Event("input"));
}

window.addEventListener("message", ({ data }) => {
  if (typeof data !== "string" || !data.includes('"kubedev"')) return;
  const slider = stepsOf(reveal.getCurrentSlide());
  if (slider) setStep(slider, JSON.parse(data).at);
});

function turnLight() {
  const root = document.documentElement;
  const chosen = root.dataset.jpThemeLight;
  const dark = chosen ? chosen === "false" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.jpThemeLight = dark;
}

// A picture that is higher than the slide: the window on it goes where something changes

/** How much of what changed a window would show that begins so far down; what is under way counts most. */
const WEIGHTS = [["lit/", 12], ["", 1]];
const weight = (key) => WEIGHTS.find(([start]) => key.startsWith(start))[1];

function look(scene, from) {
  const svg = scene.firstElementChild;
  const most = Math.max(svg.clientHeight - Number(scene.dataset.room), 0);
  const at = Math.min(Math.max(from, 0), most);
  scene.dataset.at = at;
  svg.style.transform = `translateY(${-at}px)`;
  scene.classList.toggle("above", at > 1);
  scene.classList.toggle("below", at < most - 1);
}

/** The fragments that a step changes, as their spans in the picture, weighed. */
function changes(scene, before) {
  const svg = scene.firstElementChild;
  const scale = svg.clientWidth / svg.viewBox.baseVal.width;
  return [...svg.children].flatMap((mark) => {
    if (before.get(mark.dataset.k) === mark.outerHTML) return [];
    const box = mark.getBBox();
    const top = (mark.transform.baseVal.consolidate()?.matrix.f ?? 0) + box.y;
    return [[top * scale, (top + box.height) * scale, weight(mark.dataset.k ?? "")]];
  });
}

function follow(scene, before) {
  const room = Number(scene.dataset.room);
  const spans = changes(scene, before).filter(([top, end]) => end - top < room);
  const seen = (from) =>
    spans.reduce((sum, [top, end, counts]) => sum + counts * (top >= from && end <= from + room), 0);
  const now = Number(scene.dataset.at ?? 0);
  const most = scene.firstElementChild.clientHeight - room;
  const places = [now, 0, most, ...spans.flatMap(([top, end]) => [top - EDGE, end + EDGE - room])];
  const best = places.map((at) => Math.min(Math.max(at, 0), most)).reduce((a, b) => (seen(b) > seen(a) ? b : a));
  look(scene, best);
}

function pan(by) {
  const scene = reveal.getCurrentSlide()?.querySelector("[data-room]");
  if (scene) look(scene, Number(scene.dataset.at ?? 0) + by * 160);
}

for (const scene of document.querySelectorAll("[data-room]")) {
  const slider = stepsOf(scene.closest(".block"));
  if (!slider) continue;
  const drawn = () => new Map([...scene.firstElementChild.children].map((mark) => [mark.dataset.k, mark.outerHTML]));
  let before = drawn();
  slider.addEventListener("input", () => {
    follow(scene, before);
    before = drawn();
  });
}

// The number of the slide, with buttons for those who point

const [back, forward] = document.querySelectorAll("nav button");
const pages = reveal.getSlides();
const numbers = new Map(pages.map((page, index) => [page, index]));
back.onclick = backward;
forward.onclick = onward;

/** A slide that one comes to from before shows its picture's first moment; from behind, its last. */
function arrive({ currentSlide, previousSlide }) {
  document.querySelector("nav output").textContent = `${numbers.get(currentSlide) + 1} / ${pages.length}`;
  for (const scene of currentSlide.querySelectorAll("[data-room]")) look(scene, Number(scene.dataset.at ?? 0));
  const slider = stepsOf(currentSlide);
  if (!slider || !previousSlide) return;
  const start = Number(slider.closest("[data-start]").dataset.start);
  setStep(slider, numbers.get(previousSlide) > numbers.get(currentSlide) ? Number(slider.max) : start);
}
reveal.on("slidechanged", arrive);
arrive({ currentSlide: reveal.getCurrentSlide() });

// On paper: a page for each slide, with all that comes on it, and pictures whole at their last step

function prepare() {
  document.documentElement.classList.add("on-paper");
  for (const slider of document.querySelectorAll(".kd-steps input")) setStep(slider, Number(slider.max));
}
window.addEventListener("beforeprint", prepare);
window.addEventListener("afterprint", () => document.documentElement.classList.remove("on-paper"));
if (printed) prepare();
document.body.dataset.ready = "yes";
