// ---- the view ----
const gutter = 74, map = 22, header = 46, mapFrame = 2;
let width = 0, height = 0, lane = 0, top = 0, origin = 0, scale = 1;  // scale: ps per pixel
let hover = null, selected = null, showPath = false, wanted = false, dark = false;
const transferHeight = () => info.transfers ? Math.max(5, Math.round(lane * 0.3)) : 0;
const pitch = () => lane + transferHeight() + (lane > 8 ? 4 : 1);
const room = () => width - gutter;
const x = time => gutter + (time - origin) / scale;
const timeAt = place => origin + (place - gutter) * scale;
const widest = () => info.span / room() * 1.02;
const clampView = () => {
  scale = Math.min(widest(), Math.max(scale, 1));
  const most = Math.max(0, info.span * 1.01 - room() * scale);
  origin = Math.min(most, Math.max(Math.min(0, most), origin));
  const lowest = Math.max(0, header + info.ranks * pitch() - height);
  top = Math.min(lowest, Math.max(0, top));
};
const redraw = () => {
  clampView();
  if (wanted) return;
  wanted = true;
  requestAnimationFrame(draw);
};
const zoom = (factor, place) => {
  const time = timeAt(place);
  scale = Math.min(widest(), Math.max(1, scale * factor));
  origin = time - (place - gutter) * scale;
  redraw();
};
const fit = () => {
  scale = widest();
  origin = 0;
  redraw();
};
const resize = () => {
  const ratio = devicePixelRatio || 1;
  width = canvas.clientWidth;
  const free = Math.max(260, innerHeight * 0.75) - header;
  const rows = info.ranks * (info.transfers ? 1.3 : 1);
  lane = Math.max(10, Math.min(44, Math.floor(free / rows - 4)));
  height = Math.round(Math.min(free, info.ranks * pitch()) + header);
  canvas.style.height = height + 'px';
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  redraw();
};

// ---- drawing ----
const colours = () => info.themes[dark ? 1 : 0];
/** Colour and ink of a class, of which some are others on dark ground. */
const inksOf = work => (dark && info.pale[work.colour]) || work;
const brushes = new Map();
const hatched = cause => {
  const key = cause + (dark ? 'd' : 'l');
  if (brushes.has(key)) return brushes.get(key);
  const tile = document.createElement('canvas');
  tile.width = tile.height = info.hatch;
  const part = tile.getContext('2d');
  const { colour, lines } = colours().causes[cause];
  part.fillStyle = colour;
  part.fillRect(0, 0, info.hatch, info.hatch);
  part.fillStyle = lines;
  info.causes[cause].rows.forEach((bits, y) => {
    for (let bit = 0; bit < info.hatch; ++bit) if (bits >> bit & 1) part.fillRect(bit, y, 1, 1);
  });
  brushes.set(key, pen.createPattern(tile, 'repeat'));
  return brushes.get(key);
};
const drawSwatch = swatch => {
  const part = swatch.getContext('2d');
  const { cause } = swatch.dataset;
  part.fillStyle = cause === 'none' ? colours().busy : hatched(Number(cause));
  part.fillRect(0, 0, swatch.width, swatch.height);
};
/** The first box of a track that ends after a time; ends rise. */
const firstAfter = (track, time) => {
  let low = 0, high = track.end.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (track.end[middle] > time) high = middle; else low = middle + 1;
  }
  return low;
};
// Columns have a row for each colour: a run may have thousands of classes.
const paints = [...new Set(info.classes.map(work => work.colour))];
const paintOf = Uint16Array.from(info.classes, work => paints.indexOf(work.colour));
const causeOf = Uint16Array.from(info.causes, (cause, c) => c);
/** Boxes of two pixels or more one by one; narrower ones together as shares of columns. */
const boxes = (track, rowOf, rows, visit, columns) => {
  const until = timeAt(width);
  for (let i = firstAfter(track, origin); i < track.begin.length; ++i) {
    if (track.begin[i] >= until) break;
    const left = x(track.begin[i]), right = x(track.end[i]);
    if (right - left >= 2) {
      visit(i, Math.max(left, gutter - 2), Math.min(right, width + 2));
      continue;
    }
    for (let column = Math.max(gutter, Math.floor(left)); column < right; ++column) {
      const share = Math.min(right, column + 1) - Math.max(left, column);
      columns[(column - gutter) * rows + rowOf[track.work[i]]] += share;
    }
  }
};
/** Shares of each column, from the bottom up, or from the top down. */
const stack = (columns, categories, y, high, paint, falls) => {
  for (let column = 0; column < room(); ++column) {
    let sum = 0;
    for (let category = 0; category < categories; ++category) {
      const share = columns[column * categories + category];
      if (share === 0) continue;
      pen.fillStyle = paint(category);
      const part = Math.min(1 - sum, share) * high;
      const up = falls ? sum * high : high * (1 - sum) - part;
      if (part > 0) pen.fillRect(gutter + column, y + up, 1, part);
      sum = Math.min(1, sum + share);
    }
  }
};
const drawIdle = (rank, y, columns) => {
  boxes(rank.idle, causeOf, info.causes.length, (i, left, right) => {
    pen.fillStyle = hatched(rank.idle.work[i]);
    pen.fillRect(left, y, right - left, lane);
  }, columns);
};
const drawOps = (track, y, high, columns) => {
  boxes(track, paintOf, paints.length, (i, left, right) => {
    const work = info.classes[track.work[i]];
    pen.fillStyle = inksOf(work).colour;
    pen.fillRect(left, y, right - left > 4 ? right - left - 1 : right - left, high);
    if (high < 11 || right - left < 9) return;
    pen.fillStyle = inksOf(work).ink;
    const text = labels([track, i]).find(each => pen.measureText(each).width + 4 < right - left);
    if (text) pen.fillText(text, (left + right) / 2, y + high / 2);
  }, columns);
};
const drawTracks = (tracks, y, high) => {
  const part = high / Math.max(1, tracks.length);
  tracks.forEach((track, t) => {
    const columns = new Float32Array(Math.ceil(room()) * paints.length);
    drawOps(track, y + t * part, part, columns);
    stack(columns, paints.length, y + t * part, part,
      c => inksOf({ colour: paints[c] }).colour);
  });
};
const rowTop = rank => header + rank * pitch() - top;
const placeOf = ([track, i]) => {
  const transfers = track.kind === 'transfers';
  const tracks = ranks[track.rank][track.kind];
  const count = Array.isArray(tracks) ? tracks.length : 1;
  const high = (transfers ? transferHeight() - 1 : lane) / count;
  const y = rowTop(track.rank) + (transfers ? lane + 1 : 0) +
    (Array.isArray(tracks) ? tracks.indexOf(track) * high : 0);
  return [x(track.begin[i]), y, Math.max(1, x(track.end[i]) - x(track.begin[i])), high];
};
const frame = (found, thick) => {
  const [left, y, wide, high] = placeOf(found);
  for (const [tone, out] of [['#ffffff', -thick / 2], ['#22262b', thick / 2]]) {
    pen.strokeStyle = tone;
    pen.lineWidth = thick;
    pen.strokeRect(left - out, y - out, wide + 2 * out, high + 2 * out);
  }
};
const drawPath = () => {
  pen.strokeStyle = colours().ink;
  pen.lineWidth = 1.6;
  pen.beginPath();
  let before = -1e9;
  for (const op of path) {
    const [left, y, wide, high] = placeOf(opAt[op]);
    if (left > width + 500 || left + wide < before + 1) continue;
    const low = y + high * 0.85;
    before < -1e8 ? pen.moveTo(left, low) : pen.lineTo(left, low);
    pen.lineTo(before = left + wide, low);
  }
  pen.stroke();
};
const drawRanks = () => {
  pen.textAlign = 'center';
  pen.textBaseline = 'middle';
  pen.font = '11px system-ui, sans-serif';
  for (const [rank, { ops, transfers, idle }] of ranks.entries()) {
    const y = rowTop(rank);
    if (y > height || y + pitch() < header) continue;
    pen.fillStyle = colours().lane;
    pen.fillRect(gutter, y, room(), lane);
    const columns = new Float32Array(Math.ceil(room()) * info.causes.length);
    drawIdle({ idle }, y, columns);
    drawTracks(ops, y, lane);
    stack(columns, info.causes.length, y, lane, c => colours().causes[c].colour, true);
    if (!info.transfers) continue;
    pen.fillStyle = colours().lane;
    pen.fillRect(gutter, y + lane + 1, room(), transferHeight() - 1);
    drawTracks(transfers, y + lane + 1, transferHeight() - 1);
  }
};
const drawNames = () => {
  pen.fillStyle = colours().ground;
  pen.fillRect(0, header, gutter, height - header);
  pen.fillStyle = colours().ink;
  pen.textAlign = 'left';
  let free = header - 4;
  for (let rank = 0; rank < info.ranks; ++rank) {
    const middle = rowTop(rank) + lane / 2;
    if (middle - 7 < free) continue;
    pen.fillText(rankName(rank), 4, middle, gutter - 6);
    free = middle + 7;
  }
};
const drawRuler = () => {
  pen.fillStyle = colours().ground;
  pen.fillRect(0, 0, width, header);
  pen.fillStyle = colours().faint;
  pen.strokeStyle = colours().faint;
  pen.lineWidth = 1;
  pen.textAlign = 'center';
  const least = 95 * scale;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map(each => each * power).find(each => each >= least);
  const [unit, name] = unitFor(Math.max(step, origin + room() * scale) / 10);
  for (let time = Math.ceil(origin / step) * step; x(time) < width; time += step) {
    pen.beginPath();
    pen.moveTo(x(time), header - 5);
    pen.lineTo(x(time), header);
    pen.stroke();
    pen.fillText(Number((time / unit).toPrecision(9)) + ' ' + name,
      Math.max(x(time), gutter + 24), header - 12);
  }
};
// The whole run: the mean idle share of the ranks by cause.
let mapColumns = null;
const drawMap = () => {
  const count = Math.ceil(room()), causes = info.causes.length;
  if (!mapColumns || mapColumns.length !== count * causes) {
    mapColumns = new Float32Array(count * causes);
    const wide = info.span / room() || 1;
    for (const { idle } of ranks) {
      for (let i = 0; i < idle.begin.length; ++i) {
        const left = idle.begin[i] / wide, right = idle.end[i] / wide;
        for (let column = Math.floor(left); column < Math.min(right, count); ++column) {
          mapColumns[column * causes + idle.work[i]] +=
            (Math.min(right, column + 1) - Math.max(left, column)) / info.ranks;
        }
      }
    }
  }
  pen.fillStyle = colours().busy;
  pen.fillRect(gutter, mapFrame, room(), map - 2 * mapFrame);
  stack(mapColumns, causes, mapFrame, map - 2 * mapFrame, c => colours().causes[c].colour, false);
  const wide = room() / info.span;
  pen.strokeStyle = colours().mark;
  pen.lineWidth = mapFrame;
  pen.strokeRect(gutter + origin * wide, mapFrame / 2,
    Math.max(3, Math.min(room() * scale, info.span - origin) * wide), map - mapFrame);
  pen.textAlign = 'left';
  pen.fillStyle = colours().faint;
  pen.fillText('idle share', 4, map / 2);
};
const draw = () => {
  wanted = false;
  pen.fillStyle = colours().ground;
  pen.fillRect(0, 0, width, height);
  drawRanks();
  pen.save();
  pen.beginPath();
  pen.rect(gutter, header, room(), height - header);
  pen.clip();
  if (showPath) drawPath();
  if (hover) frame(hover, 1);
  if (selected) frame(selected, 2);
  pen.restore();
  drawNames();
  drawRuler();
  drawMap();
};
