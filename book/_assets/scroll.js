// Whatever scrolls sideways can be scrolled by keyboard too: formulas, tables, long lines of code,
// also those of a solution that has just been opened.
const WIDE = "mjx-container[display='true'], .pst-scrollable-table-container, pre";
const watcher = new ResizeObserver(entries => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
addEventListener("load", () => {
  const done = window.MathJax && MathJax.startup ? MathJax.startup.promise : Promise.resolve();
  done.then(() => document.querySelectorAll(WIDE).forEach(element => watcher.observe(element)));
});
