const info = JSON.parse(document.getElementById('timeline-info').textContent);
const canvas = document.getElementById('timeline');
const pen = canvas.getContext('2d');
const tip = document.getElementById('timeline-tip');
const line = document.getElementById('timeline-line');

// ---- the run: numbers of variable length, base64 ----
const bytes = Uint8Array.from(atob(info.data), c => c.charCodeAt(0));
let at = 0;
const number = () => {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    const byte = bytes[at++];
    value += (byte & 127) * scale;
    if (byte < 128) return value;
  }
};
const time = () => number() * info.unit;
const signed = () => {
  const value = number();
  return value % 2 ? -(value + 1) / 2 : value / 2;
};
const lengthOf = info.classes.map(() => 0);
const microbatchOf = info.classes.map(() => 0);
const opAt = [];  // [track, place] by number
const readOps = (rank, kind) => {
  const count = number();
  const track = { rank, kind, begin: new Float64Array(count), end: new Float64Array(count),
    work: new Uint16Array(count), microbatch: new Int32Array(count), first: opAt.length };
  let end = 0;
  for (let i = 0; i < count; ++i) {
    const work = track.work[i] = number();
    track.microbatch[i] = microbatchOf[work] += signed();
    track.begin[i] = end + signed() * info.unit;
    lengthOf[work] += signed() * info.unit;
    track.end[i] = end = track.begin[i] + lengthOf[work];
    opAt.push([track, i]);
  }
  return track;
};
const readIdle = rank => {
  const count = number();
  const track = { rank, kind: 'idle', begin: new Float64Array(count), end: new Float64Array(count),
    work: new Uint16Array(count), behind: new Int32Array(count) };
  let end = 0, behind = 0;
  for (let i = 0; i < count; ++i) {
    track.work[i] = number();
    track.begin[i] = end + time();
    track.end[i] = end = track.begin[i] + time();
    track.behind[i] = behind += signed();
  }
  return track;
};
const ranks = [];
for (let rank = 0; rank < info.ranks; ++rank) {
  const ops = [];
  for (let tracks = number(); tracks > 0; --tracks) ops.push(readOps(rank, 'ops'));
  const transfers = [];
  for (let tracks = number(); tracks > 0; --tracks) transfers.push(readOps(rank, 'transfers'));
  ranks.push({ ops, transfers, idle: readIdle(rank) });
}
const path = [];
for (let count = number(), op = 0; count > 0; --count) path.push(op += signed());
const stages = ranks.map(rank => {
  const all = new Set();
  rank.ops.forEach(track => track.work.forEach(work => all.add(info.classes[work].stage)));
  return [...all].sort((a, b) => a - b);
});

// ---- words ----
const units = [[1e12, 's'], [1e9, 'ms'], [1e6, 'µs'], [1e3, 'ns'], [1, 'ps']];
const unitFor = span => units.find(unit => Math.abs(span) >= unit[0]) ?? units[4];
const whole = ps => {
  if (ps === 0) return '0';
  const [scale, name] = unitFor(ps);
  return Number((ps / scale).toFixed(Math.round(Math.log10(scale)))) + ' ' + name;
};
const short = ps => {
  const [scale, name] = unitFor(ps);
  return Number((ps / scale).toPrecision(4)) + ' ' + name;
};
const labels = ([track, i]) => {
  const work = info.classes[track.work[i]];
  const plain = work.letters + track.microbatch[i];
  const several = track.kind === 'ops' && stages[track.rank].length > 1;
  return [several ? work.stage + plain : plain, String(track.microbatch[i])];
};
const sentence = ([track, i]) => {
  const work = info.classes[track.work[i]];
  return `${work.text} of microbatch ${track.microbatch[i]}, stage ${work.stage}, ${work.place}`;
};
const describe = found => {
  const [track, i] = found;
  const span = `${whole(track.begin[i])} to ${whole(track.end[i])}, ` +
    `${whole(track.end[i] - track.begin[i])}`;
  if (track.kind !== 'idle') return `${sentence(found)}\n${span}`;
  const cause = info.causes[track.work[i]].name;
  const behind = track.behind[i] > 0 ? '\nwaits for ' + sentence(opAt[track.behind[i] - 1]) : '';
  return `idle, rank ${track.rank}: ${cause}${behind}\n${span}`;
};
