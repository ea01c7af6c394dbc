// Whatever scrolls sideways can be scrolled by keyboard too: formulas, tables, long lines of code,
// figures on a phone, also those of a solution that has just been opened.
const WIDE = "mjx-container[display='true'], .pst-scrollable-table-container, pre, .wide-figure";
const PANELS = 650; // pixels from which a figure has more than one panel
const watcher = new ResizeObserver(entries => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
addEventListener("load", () => {
  for (const image of document.querySelectorAll(".cell_output img"))
    if (image.naturalWidth > PANELS) {
      const box = document.createElement("div");
      box.className = "wide-figure";
      image.replaceWith(box);
      box.append(image);
    }
  const done = window.MathJax && MathJax.startup ? MathJax.startup.promise : Promise.resolve();
  done.then(() => document.querySelectorAll(WIDE).forEach(element => watcher.observe(element)));
});
