#include "experiments/program/pages/page_parts.hpp"

namespace penstock {

// Pictures have white paper; a dark screen turns their lightness over and keeps their hues.
constinit const std::string_view page_style = R"css(
:root { color-scheme: light dark; --ink: #22262b; --faint: #626972; --line: #d5d9de;
  --ground: #ffffff; --head: #f3f4f6; --mark: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7ea; --faint: #a2a9b2; --line: #3c424a; --ground: #17191c; --head: #23272c;
    --mark: #56b4e9; }
  svg { filter: invert(0.91) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
body { margin: 1.5rem auto; padding: 0 1.5rem; max-width: 90rem; color: var(--ink);
  background: var(--ground); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 0.75rem; }
h2 { font-size: 1.1rem; margin: 1.75rem 0 0.5rem; }
h3 { font-size: 0.95rem; margin: 0.9rem 0 0.3rem; }
pre { margin: 0; font: 12.5px/1.4 ui-monospace, monospace; overflow-x: auto; }
.text { padding: 0.7rem 0.9rem; background: var(--head); border-radius: 6px; }
.note { color: var(--faint); margin: 0.35rem 0; }
.figures { display: flex; flex-wrap: wrap; gap: 1.25rem; align-items: flex-start; }
figure { margin: 0; max-width: 100%; }
figcaption { color: var(--faint); font-size: 0.85rem; }
svg { max-width: 100%; height: auto; background: #ffffff; display: block; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
th { background: var(--head); vertical-align: bottom; }
td.number, th.number { text-align: right; }
th button { font: inherit; font-weight: 600; color: inherit; background: none; border: 0;
  padding: 0; cursor: pointer; text-align: inherit; }
th button::after { content: " \2195"; color: var(--faint); }
th[aria-sort=ascending] button::after { content: " \2191"; color: var(--mark); }
th[aria-sort=descending] button::after { content: " \2193"; color: var(--mark); }
th input { width: 100%; min-width: 4.5rem; font: inherit; font-weight: 400; padding: 0.1rem 0.3rem;
  color: inherit; background: var(--ground); border: 1px solid var(--line); border-radius: 4px; }
td button { font: inherit; color: var(--mark); background: none; border: 0; padding: 0;
  cursor: pointer; }
td button::before { content: "\25B8 "; }
td button[aria-expanded=true]::before { content: "\25BE "; }
.more > td { padding: 0.2rem 1rem 1.2rem; background: var(--head); }
.finding { color: var(--faint); max-width: 32rem; }
)css";

constinit const std::string_view page_script = R"js(
(() => {
  'use strict';
  const table = document.getElementById('rows');
  if (!table) return;
  const heads = [...table.tHead.rows[0].cells];
  const filters = [...table.tHead.rows[1].cells].map(cell => cell.querySelector('input'));
  const count = document.getElementById('count');
  const rows = [...table.tBodies].map(body => ({
    body,
    values: [...body.rows[0].cells].map(cell => {
      const text = cell.textContent.trim();
      if (!heads[cell.cellIndex].classList.contains('number')) return text;
      return text === '' ? NaN : Number(cell.dataset.v ?? text);
    }),
    texts: [...body.rows[0].cells].map(cell => cell.textContent.trim().toLowerCase()),
  }));

  const relations = {
    '>=': (a, b) => a >= b, '<=': (a, b) => a <= b, '!=': (a, b) => a !== b,
    '>': (a, b) => a > b, '<': (a, b) => a < b, '=': (a, b) => a === b,
  };
  const passes = (row, column, wanted) => {
    const parts = /^(>=|<=|!=|>|<|=)\s*(.+)$/.exec(wanted);
    if (!parts) return row.texts[column].includes(wanted);
    const number = Number(parts[2]);
    const compare = relations[parts[1]];
    if (typeof row.values[column] === 'number' && !Number.isNaN(number)) {
      return compare(row.values[column], number);
    }
    return compare(row.texts[column], parts[2]);
  };
  const filter = () => {
    const wanted = filters.map(input => input.value.trim().toLowerCase());
    let shown = 0;
    for (const row of rows) {
      const fits = wanted.every((text, column) => text === '' || passes(row, column, text));
      row.body.hidden = !fits;
      if (fits) ++shown;
    }
    count.textContent = shown + ' of ' + rows.length;
  };

  const compare = (a, b, sign) => {
    if (typeof a === 'string') return sign * a.localeCompare(b, 'en', { numeric: true });
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
    return sign * (a - b);
  };
  const sort = column => {
    const down = heads[column].getAttribute('aria-sort') === 'ascending';
    heads.forEach(head => head.removeAttribute('aria-sort'));
    heads[column].setAttribute('aria-sort', down ? 'descending' : 'ascending');
    rows.sort((a, b) => compare(a.values[column], b.values[column], down ? -1 : 1));
    table.append(...rows.map(row => row.body));
  };

  heads.forEach((head, column) => {
    head.querySelector('button').addEventListener('click', () => sort(column));
  });
  filters.forEach(input => input.addEventListener('input', filter));
  table.addEventListener('click', event => {
    const button = event.target.closest('td button');
    if (!button) return;
    const more = button.closest('tbody').rows[1];
    more.hidden = !more.hidden;
    button.setAttribute('aria-expanded', String(!more.hidden));
  });
  filter();
})();
)js";

}  // namespace penstock
