// The largest boxes of one size that fit: one for the reference, if there is one, and the candidates in rows below it.

const GAP = 14;
const WIDEST = { picture: 520, text: 400 };

/** Width and height of a box, for `n` candidates below `above` references in a space of `width` x `height`; all in one row where they stand `beside` it. */
export function boxes(n, above, width, height, shape, beside = false) {
  if (beside) {
    const across = Math.min(WIDEST[shape], (width - GAP * (n + above + 1)) / (n + above));
    const side = Math.min(across, height);
    return { width: shape === "picture" ? side : across, height: shape === "picture" ? side : height };
  }
  let best = null;
  for (let columns = 1; columns <= n; columns += 1) {
    const rows = above + Math.ceil(n / columns);
    const across = Math.min(WIDEST[shape], (width - GAP * (columns - 1)) / columns);
    const down = (height - GAP * rows) / rows;
    const box = shape === "picture" ? square(across, down) : sheet(across, down, width);
    if (best === null || box.worth > best.worth) best = { ...box, columns };
  }
  return best;
}

function square(across, down) {
  const side = Math.max(72, Math.min(across, down));
  return { width: side, height: side, worth: side };
}

/** Text wants width first: at least 15 rem of it where there is room, and no more height than it needs. */
function sheet(across, down, width) {
  const height = Math.max(64, Math.min(down, 230));
  const enough = Math.min(across, Math.min(width, 300));
  return { width: across, height, worth: enough * 3 + height };
}

/** For label questions: the item takes what the buttons leave. */
export function labelBoxes(n, width, height, withPictures, beside = false) {
  if (beside) {
    const side = Math.min(height, 0.3 * width);
    const room = width - side - 3 * GAP;
    const columns = Math.max(2, Math.min(n, Math.floor((room + 9) / 119)));
    const option = Math.floor((room - 9 * (columns - 1)) / columns) - 1;
    const each = Math.max(44, height / Math.ceil(n / columns) - 9);
    const picture = withPictures && each > 88 ? each - 44 : 0;
    return { side, option, across: room, optionHeight: withPictures ? each : Math.min(each, 52), picture };
  }
  const wanted = withPictures ? 118 : 150;
  const columns = Math.max(2, Math.min(n, Math.floor((width + 9) / (wanted + 9)), n > 5 ? Math.ceil(n / 2) : n));
  const option = Math.min(190, Math.floor((width - 9 * (columns - 1)) / columns) - 1);
  const rows = Math.ceil(n / columns);
  const picture = withPictures ? Math.max(40, Math.min(option - 22, n <= 5 ? 150 : 96, (height * 0.52) / rows - 58)) : 0;
  const optionHeight = picture + 58;
  const side = Math.max(110, Math.min(width, 320, height - rows * (optionHeight + 9) - GAP));
  const across = columns * (option + 9.5);
  return { side, option, across, optionHeight: Math.min(optionHeight, withPictures ? optionHeight : 52), picture };
}
