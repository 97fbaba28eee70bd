// Tables that sort, and figures that can be copied.

const number = (text) => {
  const match = text.replaceAll(",", "").match(/-?\d+(\.\d+)?/);
  return match ? Number(match[0]) : undefined;
};

// A heading becomes a button; pressed again it sorts the other way. Cells without a value stay last.
export function makeSortable(table) {
  const rows = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    if (head.title) button.title = head.title;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const numeric = head.classList.contains("n");
      // Numbers start with the largest, which is what one looks for.
      const before = head.getAttribute("aria-sort");
      const order = before ? (before === "ascending" ? "descending" : "ascending") : numeric ? "descending" : "ascending";
      const sign = order === "ascending" ? 1 : -1;
      const keyed = [...rows.rows].map((row) => {
        const cell = row.cells[column], text = cell.textContent.trim();
        return { row, key: numeric ? number(cell.dataset.v ?? text) : text || undefined };
      });
      keyed.sort((a, b) => {
        if (a.key === undefined || b.key === undefined) return (a.key === undefined) - (b.key === undefined);
        return sign * (numeric ? a.key - b.key : a.key.localeCompare(b.key));
      });
      for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order);
      rows.append(...keyed.map((k) => k.row));
    });
  });
}

// Records of a table's rows by its headings; counts become numbers.
export function tableRecords(table) {
  const names = [...table.tHead.rows[0].cells].map((c) => c.textContent.trim());
  if (table.classList.contains("source")) names[names.length - 1] = "code";
  const bar = table.classList.contains("bars") ? 1 : -1;
  return [...table.tBodies[0].rows]
    .filter((row) => row.cells.length === names.length)
    .map((row) =>
      Object.fromEntries(
        [...row.cells].filter((_, i) => i !== bar).map((cell) => {
          const i = cell.cellIndex;
          const text = names[i] === "code" ? cell.textContent : (cell.dataset.v ?? cell.textContent.trim());
          const plain = text.replaceAll(",", "");
          return [names[i], /^-?\d+(\.\d+)?$/.test(plain) && names[i] !== "code" ? Number(plain) : text];
        }),
      ),
    );
}

export function toCsv(records) {
  const field = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const names = [...new Set(records.flatMap((r) => Object.keys(r)))];
  return [names, ...records.map((r) => names.map((n) => r[n]))].map((row) => row.map(field).join(",") + "\n").join("");
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A file opened from disk may not have the clipboard; the old way works in more places.
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    area.style.opacity = "0";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

// Buttons "JSON" and "CSV" in a figure's caption. `records`: what the figure shows now, as an array of flat objects.
export function makeCopyable(figure, records) {
  const caption = figure.querySelector("figcaption");
  const tools = document.createElement("span");
  tools.className = "copy";
  const title = caption.querySelector(".t"), how = caption.querySelector(".how");
  const as = {
    JSON: () => JSON.stringify({ figure: title.textContent, origin: how.textContent, rows: records() }, null, 1),
    CSV: () => toCsv(records()),
  };
  for (const [name, text] of Object.entries(as)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.title = `Copy this figure's numbers as ${name}`;
    button.setAttribute("aria-label", `${title.textContent}: copy as ${name}`);
    button.addEventListener("click", async () => {
      const done = await copy(text());
      button.textContent = done ? "copied" : "no clipboard";
      setTimeout(() => (button.textContent = name), 1500);
    });
    tools.append(button);
  }
  caption.append(tools);
}
