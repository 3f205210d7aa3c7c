// ---- hands ----
const boxAt = (track, time) => {
  const i = firstAfter(track, time);
  return i < track.begin.length && track.begin[i] <= time ? [track, i] : null;
};
const under = (px, py) => {
  const rank = Math.floor((py - header + top) / pitch());
  if (px < gutter || py < header || !ranks[rank]) return null;
  const down = py - rowTop(rank), time = timeAt(px);
  const pick = (tracks, from, high) =>
    tracks.length ? boxAt(tracks[Math.min(tracks.length - 1,
      Math.floor((down - from) / high * tracks.length))], time) : null;
  if (down < lane) return pick(ranks[rank].ops, 0, lane) ?? boxAt(ranks[rank].idle, time);
  return down < lane + transferHeight()
    ? pick(ranks[rank].transfers, lane, transferHeight()) : null;
};
const same = (a, b) => a === b || (a && b && a[0] === b[0] && a[1] === b[1]);
const point = event => {
  const place = canvas.getBoundingClientRect();
  return [event.clientX - place.left, event.clientY - place.top];
};
const showTip = (found, px, py) => {
  tip.hidden = !found;
  if (!found) return;
  tip.textContent = describe(found);
  tip.style.left = Math.max(0, Math.min(px + 14, width - tip.offsetWidth - 4)) + 'px';
  tip.style.top = (py + 18) + 'px';
};
const select = found => {
  selected = found;
  line.textContent = found ? describe(found).replace(/\n/g, '; ') : info.help;
  redraw();
};
const show = found => {
  const [track, i] = found;
  const length = track.end[i] - track.begin[i];
  if (track.begin[i] < origin || track.end[i] > origin + room() * scale) {
    origin = track.begin[i] + length / 2 - room() * scale / 2;
  }
  const y = rowTop(track.rank);
  if (y < header) top += y - header;
  if (y + pitch() > height) top += y + pitch() - height;
};
const step = by => {
  const [track, i] = selected ?? [ranks[0].ops[0], -1];
  if (!track) return;
  const next = Math.min(track.begin.length - 1, Math.max(0, i + by));
  show([track, next]);
  select([track, next]);
};
const changeRank = by => {
  const [track, i] = selected ?? [ranks[0].ops[0], 0];
  const to = ranks[Math.min(info.ranks - 1, Math.max(0, track.rank + by))].ops[0];
  if (!to || to.begin.length === 0) return;
  const next = Math.min(to.begin.length - 1, firstAfter(to, track.begin[i]));
  show([to, next]);
  select([to, next]);
};
const togglePath = () => {
  showPath = !showPath;
  document.getElementById('timeline-path').setAttribute('aria-pressed', String(showPath));
  redraw();
};

let drag = null;
canvas.addEventListener('pointerdown', event => {
  const [px, py] = point(event);
  drag = { px, py, origin, top, moved: false, onMap: py < map };
  canvas.setPointerCapture(event.pointerId);
  if (drag.onMap) moveTo(px);
});
const moveTo = px => {
  origin = (px - gutter) / room() * info.span - room() * scale / 2;
  redraw();
};
canvas.addEventListener('pointermove', event => {
  const [px, py] = point(event);
  if (drag) {
    drag.moved ||= Math.hypot(px - drag.px, py - drag.py) > 3;
    if (drag.onMap) return moveTo(px);
    if (!drag.moved) return;
    origin = drag.origin - (px - drag.px) * scale;
    top = drag.top - (py - drag.py);
    tip.hidden = true;
    return redraw();
  }
  const found = under(px, py);
  showTip(found, px, py);
  if (same(found, hover)) return;
  hover = found;
  redraw();
});
canvas.addEventListener('pointerup', event => {
  if (drag && !drag.moved && !drag.onMap) select(under(...point(event)));
  drag = null;
});
canvas.addEventListener('pointercancel', () => { drag = null; });
canvas.addEventListener('pointerleave', () => {
  hover = null;
  tip.hidden = true;
  redraw();
});
canvas.addEventListener('dblclick', event => zoom(0.5, point(event)[0]));
canvas.addEventListener('wheel', event => {
  const [px] = point(event);
  if (event.ctrlKey || event.metaKey) {
    zoom(Math.exp(event.deltaY * 0.002), px);
  } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    origin += (event.deltaX || event.deltaY) * scale;
    redraw();
  } else {
    const before = top;
    top += event.deltaY;
    redraw();
    if (top === before) return;  // the page scrolls
  }
  event.preventDefault();
}, { passive: false });
const keys = {
  w: () => zoom(0.7, (gutter + width) / 2), s: () => zoom(1 / 0.7, (gutter + width) / 2),
  '+': () => zoom(0.7, (gutter + width) / 2), '-': () => zoom(1 / 0.7, (gutter + width) / 2),
  a: () => { origin -= room() * scale / 8; redraw(); },
  d: () => { origin += room() * scale / 8; redraw(); },
  0: fit, Home: fit, c: togglePath, Escape: () => select(null),
  ArrowLeft: () => step(-1), ArrowRight: () => step(1),
  ArrowUp: () => changeRank(-1), ArrowDown: () => changeRank(1),
};
canvas.addEventListener('keydown', event => {
  const act = keys[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
  act();
  event.preventDefault();
});
const press = (name, act) => document.getElementById('timeline-' + name)
  .addEventListener('click', act);
press('in', keys['+']);
press('out', keys['-']);
press('fit', fit);
press('path', togglePath);
const scheme = matchMedia('(prefers-color-scheme: dark)');
const followScheme = () => {
  dark = scheme.matches;
  document.querySelectorAll('.legend canvas').forEach(drawSwatch);
  document.querySelectorAll('.legend i').forEach(each => {
    each.style.background = inksOf({ colour: each.dataset.colour }).colour;
  });
  redraw();
};
scheme.addEventListener('change', followScheme);
addEventListener('resize', resize);
select(null);
resize();
fit();
followScheme();
