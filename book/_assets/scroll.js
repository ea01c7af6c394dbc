// Whatever scrolls sideways can be scrolled by keyboard too: formulas, tables, long lines of code.
const WIDE = "mjx-container[display='true'], .pst-scrollable-table-container, pre";
function makeFocusable() {
  for (const element of document.querySelectorAll(WIDE)) {
    if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
    else element.removeAttribute("tabindex");
  }
}
addEventListener("load", () => {
  const done = window.MathJax && MathJax.startup ? MathJax.startup.promise : Promise.resolve();
  done.then(makeFocusable);
});
addEventListener("resize", makeFocusable);
