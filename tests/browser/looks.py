"""What a page looks like, measured in the browser: sizes, places and contrast of what is on the screen."""

# What is wrong with the slide on show.
CHECK = """() => {
  const slide = document.querySelector('.slides section.present section.present');
  const seen = (node) => node.checkVisibility({ visibilityProperty: true });
  const name = (node) => `<${node.tagName}> ${node.textContent.trim().slice(0, 40)}`;
  const scale = (node) => node.ownerSVGElement
    ? Math.hypot(node.getScreenCTM().a, node.getScreenCTM().b) // also where it is turned
    : node.closest('.slides') ? slide.getBoundingClientRect().width / slide.offsetWidth : 1;
  const size = (node) => parseFloat(getComputedStyle(node).fontSize) * scale(node);
  // What is to be read; what counts slides and steps is for whoever shows them.
  const least = (node) => (node.closest('nav, .kd-steps') ? 16 : 23.9);
  // A picture that is too high is cut between its marks: each one is on this slide, or on another, but not on both.
  const frame = (node) => node.closest('.kd-scroll[style*="clip"]');
  const elsewhere = (node) => {
    const [box, around] = [node.getBoundingClientRect(), frame(node)?.getBoundingClientRect()];
    return around && (box.bottom < around.top + 1 || box.top > around.bottom - 1);
  };
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    const here = (slide.contains(parent) && !elsewhere(parent)) || parent.closest('nav');
    if (here && walker.currentNode.data.trim() && seen(parent)) texts.push(parent);
  }
  const out = (node) => {
    const [box, around] = [node.getBoundingClientRect(), frame(node)?.getBoundingClientRect()];
    if (frame(node)?.dataset.room) return node.closest('text, rect') && (box.left < -1 || box.right > innerWidth + 1);
    if (around && node !== frame(node) && node.tagName !== 'svg' && !elsewhere(node))
      return box.top < around.top - 1 || box.bottom > around.bottom + 1;
    if (around) return false;
    return box.left < -1 || box.top < -1 || box.right > innerWidth + 1 || box.bottom > innerHeight + 1;
  };
  const clipped = (node) =>
    node !== frame(node) &&
    (node.scrollWidth > node.clientWidth + 1 || node.scrollHeight > node.clientHeight + 1);
  const nav = document.querySelector('nav').getBoundingClientRect();
  const underNav = (node) => {
    const box = node.getBoundingClientRect();
    return !node.closest('nav') && box.right > nav.left + 1 && box.bottom > nav.top + 1;
  };
  return {
    empty: !texts.some((node) => slide.contains(node) && !node.closest('.where')),
    out: [...slide.querySelectorAll('*')].filter((node) => seen(node) && out(node)).map(name),
    clipped: [slide, ...slide.querySelectorAll('pre, .kd-sentence, .kd-scroll')].filter(clipped).map(name),
    covered: texts.filter(underNav).map(name),
    small: texts.filter((node) => size(node) < least(node)).map((node) => `${size(node)} ${name(node)}`),
  };
}"""
FINE: dict[str, object] = {"empty": False, "out": [], "clipped": [], "covered": [], "small": []}

# Texts on the screen inside `root` (an element or a selector; the page by default) that have a contrast under 4.5:1.
PALE = """(root) => {
  const parse = (colour) => {
    const found = colour.match(/[\\d.]+/g)?.map(Number);
    const whole = colour.startsWith('color(') ? 255 : 1; // a mixed colour is told in parts of 1
    return found && (found[3] ?? 1) > 0.9 ? found.slice(0, 3).map((part) => part * whole) : null;
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const painted = (node) => {
    const style = getComputedStyle(node);
    if (!(node instanceof SVGElement)) return parse(style.backgroundColor);
    return node.matches('rect, circle, path') && style.fillOpacity > 0.9 ? parse(style.fill) : null;
  };
  const pale = [];
  const walker = document.createTreeWalker(
    root instanceof Element ? root : document.querySelector(root ?? 'body'), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility({ visibilityProperty: true })) continue;
    if (node.closest('title, style, script, :disabled, [aria-disabled=true]')) continue;
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    const box = range.getBoundingClientRect();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const stack = document.elementsFromPoint(x, y);
    const above = stack.slice(0, stack.indexOf(node));
    if (!stack.includes(node) || above.some((other) => painted(other) && !node.contains(other))) continue;
    // it is outside of the window, or below something
    const ground = stack.map(painted).find(Boolean) ?? [255, 255, 255];
    const style = getComputedStyle(node);
    const [r, g, b, alpha = 1] = (node instanceof SVGElement ? style.fill : style.color).match(/[\\d.]+/g).map(Number);
    const ink = [r, g, b].map((part, i) => alpha * part + (1 - alpha) * ground[i]);
    const [low, high] = [light(ink), light(ground)].sort((a, b) => a - b);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < 4.5) pale.push(`${contrast.toFixed(1)}: ${walker.currentNode.data.trim().slice(0, 40)}`);
  }
  return pale;
}"""

# Texts of a picture (an svg) that are small, or that reach over its edge.
CUT = """(svg) => {
  const frame = svg.getBoundingClientRect();
  const scale = frame.width / svg.viewBox.baseVal.width;
  return [...svg.querySelectorAll('text')].filter((text) => {
    const box = text.getBoundingClientRect();
    const size = parseFloat(getComputedStyle(text).fontSize) * scale;
    return size < 13 || box.right > frame.right + 1 || box.left < frame.left - 1 || box.bottom > frame.bottom + 1;
  }).map((text) => text.textContent);
}"""
