// Marks the answers of a quiz where they stand; see _ext/quiz.py for the markup.
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form.quiz");
  if (!form) return;
  event.preventDefault();
  const options = [...form.querySelectorAll(".quiz-option")];
  const isRight = (option) => option.querySelector("input").hasAttribute("data-right");
  const isChosen = (option) => option.querySelector("input").checked;
  const verdict = form.querySelector(".quiz-verdict");
  for (const option of options) {
    const chosen = isChosen(option);
    option.querySelector(".quiz-why").hidden = !chosen;
    option.classList.toggle("right", chosen && isRight(option));
    option.classList.toggle("wrong", chosen && !isRight(option));
  }
  if (!options.some(isChosen)) verdict.textContent = "Choose an answer first.";
  else if (options.every((option) => isChosen(option) === isRight(option))) verdict.textContent = "Right.";
  else if (options.filter(isRight).length > 1) verdict.textContent = "Not yet: more than one is right, and each choice is explained.";
  else verdict.textContent = "Not quite. Read why, and try again.";
});
