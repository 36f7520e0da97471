// What was dropped or chosen, looked at before it is sent: one sentence for each problem.

const PICTURES = /\.(png|jpe?g|gif|webp|bmp)$/i;
const SOUNDS = /\.(mp3|ogg|flac|wav|m4a)$/i;
const MOST_BYTES = 200 * 2 ** 20;
const IGNORED = /^(\.|Thumbs\.db$|desktop\.ini$|__MACOSX)/i;

/** {files, kind, items: [{name, file}], problems}. */
export async function look(list) {
  const files = [...list].filter((file) => !IGNORED.test(file.name) && !/(^|\/)__MACOSX\//.test(file.webkitRelativePath ?? ""));
  const problems = [];
  const tables = files.filter((file) => /\.csv$/i.test(file.name));
  const archives = files.filter((file) => /\.zip$/i.test(file.name));
  const pictures = files.filter((file) => PICTURES.test(file.name));
  const others = files.filter((file) => !/\.(csv|zip)$/i.test(file.name) && !PICTURES.test(file.name) && !SOUNDS.test(file.name));
  for (const file of others) problems.push(`“${file.name}” is neither an image, a sound, a CSV nor a ZIP.`);
  for (const file of files) if (file.size === 0) problems.push(`“${file.name}” is empty.`);
  if (archives.length && files.length > 1) problems.push("A ZIP comes alone: put everything into it, or unpack it first.");
  if (tables.length > 1) problems.push(`There are ${tables.length} CSV files; one is enough.`);
  const bytes = files.reduce((sum, file) => sum + file.size, 0);
  if (bytes > MOST_BYTES) problems.push(`The files have ${Math.round(bytes / 2 ** 20)} MB together; at most 200 are taken.`);
  const names = files.map((file) => file.name);
  for (const name of new Set(names.filter((name, i) => names.indexOf(name) !== i))) problems.push(`Two files are called “${name}”.`);
  let items = pictures.map((file) => ({ name: file.name.replace(/\.\w+$/, ""), file }));
  if (tables.length === 1) {
    const rows = parseCsv(await tables[0].text());
    problems.push(...checkTable(rows));
    items = rows.slice(1).map((row) => ({ name: row[rows[0].indexOf("name")] ?? row[0] }));
  }
  if (!archives.length && !tables.length && pictures.length < 3 && !problems.length) problems.push("A study needs at least three items.");
  const kind = archives.length ? "zip" : tables.length ? "table" : "pictures";
  return { files, kind, items, problems };
}

function checkTable(rows) {
  const [header = [], ...body] = rows;
  const place = header.indexOf("name");
  if (place < 0) return [`The CSV has the columns ${header.join(", ") || "none"}; it needs a column “name”.`];
  const problems = [];
  const first = new Map();
  body.forEach((row, i) => {
    const line = i + 2;
    const name = (row[place] ?? "").trim();
    if (row.length !== header.length) problems.push(`Line ${line} has ${row.length} columns; the header has ${header.length}.`);
    else if (!name) problems.push(`Line ${line} has no name.`);
    else if (first.has(name)) problems.push(`“${name}” stands in line ${first.get(name)} and in line ${line}. Every item needs a name of its own.`);
    else first.set(name, line);
  });
  if (body.length < 3) problems.push(`The CSV has ${body.length} items; a study needs at least three.`);
  return problems.length > 12 ? [...problems.slice(0, 12), `… and ${problems.length - 12} more.`] : problems;
}

export function parseCsv(text) {
  const rows = [];
  let row = [];
  let cell = "";
  let quoted = false;
  const source = text.replace(/^\uFEFF/, "");
  for (let i = 0; i < source.length; i += 1) {
    const sign = source[i];
    if (quoted) {
      if (sign === '"' && source[i + 1] === '"') (cell += '"'), (i += 1);
      else if (sign === '"') quoted = false;
      else cell += sign;
    } else if (sign === '"' && cell === "") quoted = true;
    else if (sign === ",") row.push(cell), (cell = "");
    else if (sign === "\n" || sign === "\r") {
      if (sign === "\r" && source[i + 1] === "\n") i += 1;
      rows.push([...row, cell]);
      row = [];
      cell = "";
    } else cell += sign;
  }
  if (cell || row.length) rows.push([...row, cell]);
  return rows.filter((cells) => cells.length > 1 || cells[0] !== "");
}

/** Files of a drop, folders opened. */
export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files];
  const found = [];
  const walk = async (entry) => {
    if (entry.isFile) found.push(await new Promise((resolve, reject) => entry.file(resolve, reject)));
    else {
      const reader = entry.createReader();
      for (;;) {
        const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
        if (!some.length) break;
        for (const child of some) await walk(child);
      }
    }
  };
  for (const entry of entries) await walk(entry);
  return found;
}
