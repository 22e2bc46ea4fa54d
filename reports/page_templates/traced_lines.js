// The template beside a prompt. A pointer or the keyboard on a piece of the prompt marks the line that
// wrote it, and a pointer on a line the pieces that it wrote; the other side scrolls there. Without
// this script a piece still leads to its line.
(() => {
  "use strict";
  const lines = document.querySelector("pre.lines");
  const pieces = document.querySelector("pre.pieces");
  if (!lines || !pieces) return;

  const written = new Map();
  for (const piece of pieces.querySelectorAll("a")) {
    const line = piece.hash.slice(1);
    written.set(line, [...(written.get(line) || []), piece]);
  }
  let marked = [];
  const clear = () => {
    marked.forEach((each) => each.classList.remove("marked"));
    marked = [];
  };
  const show = (box, each) => {
    const [outer, inner] = [box.getBoundingClientRect(), each.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom) {
      box.scrollTop += inner.top - outer.top - box.clientHeight / 3;
    }
  };
  const mark = (event) => {
    const piece = event.target.closest("pre.pieces a");
    const line = piece ? document.getElementById(piece.hash.slice(1)) : event.target.closest("pre.lines > span");
    clear();
    const found = line ? written.get(line.id) || [] : [];
    if (!found.length) return;
    marked = [line, ...found];
    marked.forEach((each) => each.classList.add("marked"));
    if (piece) show(lines, line);
    else show(pieces, found.find((each) => each.textContent.trim()) || found[0]);
  };
  for (const box of [lines, pieces]) {
    box.addEventListener("pointerover", mark);
    box.addEventListener("focusin", mark);
    box.addEventListener("pointerleave", clear);
  }
})();
