// What nobody can read or touch: every line is one fault. It is evaluated in a page
// that is shown, with whether it is shown on a phone.
(phone) => {
  const faults = new Set();
  const name = (e) => `${e.tagName.toLowerCase()}${e.id && "#" + e.id}${[...e.classList].map((c) => "." + c).join("")} "${(e.textContent || e.value || e.name || "").trim().replace(/\s+/g, " ").slice(0, 40)}"`;
  const shown = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !e.closest(".skip");

  // Colours as numbers, by the browser's own reading of them.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colour = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  // What is below everything depends on the page's scheme.
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.backgroundColor = "Canvas";
  const paper = colour(getComputedStyle(probe).backgroundColor);
  probe.remove();
  const ground = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) {
      const layer = colour(getComputedStyle(at).backgroundColor);
      if (layer[3] > 0) layers.push(layer);
      if (layer[3] === 1) break;
    }
    return layers.reduceRight((below, layer) => over(layer, below), paper);
  };
  const luminance = ([r, g, b]) => {
    const [R, G, B] = [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * R + 0.7152 * G + 0.0722 * B;
  };
  const contrast = (a, b) => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (light + 0.05) / (dark + 0.05);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    if (texts.currentNode.data.trim() === "" || !shown(e) || e.closest("noscript, script, title")) continue;
    const style = getComputedStyle(e);
    const behind = ground(e);
    const least = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
    const ratio = contrast(over(colour(e.closest("svg") ? style.fill : style.color), behind), behind);
    if (ratio < least) faults.add(`contrast ${ratio.toFixed(2)} of ${name(e)}`);
    if (e.closest("svg")) {
      const size = e.getBoundingClientRect().height;
      if (size > 0 && size < 10) faults.add(`letters of ${size.toFixed(1)} px in a picture: ${name(e)}`);
    }
  }
  for (const field of document.querySelectorAll("input[placeholder]")) {
    const behind = ground(field);
    const ratio = contrast(over(colour(getComputedStyle(field, "::placeholder").color), behind), behind);
    if (shown(field) && ratio < 4.5) faults.add(`contrast ${ratio.toFixed(2)} of the placeholder of ${field.name}`);
  }

  // What is cut off and cannot be scrolled to.
  for (const e of document.querySelectorAll("main *, header *")) {
    const style = getComputedStyle(e);
    if (shown(e) && style.overflowX === "hidden" && e.scrollWidth > e.clientWidth + 1 && !e.closest(".u-wrap, thead, select") && e.clientWidth > 1) faults.add(`cut off: ${name(e)}`);
  }
  for (const e of document.querySelectorAll("table.cards th, table.cards td")) {
    const label = getComputedStyle(e, "::before");
    if (!phone || !shown(e) || label.content === "none" || !e.dataset.label) continue;
    const room = parseFloat(getComputedStyle(e).paddingLeft);
    if (label.position === "absolute" && parseFloat(label.width) > room) faults.add(`the label runs into the value: ${e.dataset.label}`);
  }

  // A finger needs 40 px; a link in the middle of a sentence has what its line has.
  const sentence = (e) => {
    const words = (n) => n.nodeType === Node.TEXT_NODE && /[\p{L}\p{N}]/u.test(n.data);
    let block = e.parentElement;
    while (getComputedStyle(block).display === "inline") block = block.parentElement;
    return [...block.childNodes].some(words) || [...block.querySelectorAll(":scope > time, :scope > code, :scope > strong, :scope > span")].some((n) => n !== e && !n.contains(e));
  };
  if (phone) {
    for (const e of document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary")) {
      if (!shown(e) || e.closest("svg") || (e.tagName === "A" && sentence(e))) continue;
      const { width, height } = e.getBoundingClientRect();
      if (height < 39.5 || width < 24) faults.add(`too small for a finger, ${width.toFixed(0)}×${height.toFixed(0)}: ${name(e)}`);
    }
  }
  return [...faults].join("\n");
}
