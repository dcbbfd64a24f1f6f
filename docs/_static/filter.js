// Shows the rows of the tables in the section of a search field that hold its text.
document.addEventListener("DOMContentLoaded", () => {
  for (const field of document.querySelectorAll("input.filter")) {
    field.addEventListener("input", () => {
      const text = field.value.toLowerCase();
      for (const row of field.closest("section").querySelectorAll("tbody tr")) {
        row.hidden = !row.textContent.toLowerCase().includes(text);
      }
    });
  }
});
