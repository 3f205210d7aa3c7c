#include "experiments/program/pages/result_page.hpp"

#include <fmt/format.h>

#include "experiments/input/files/plain_text.hpp"

namespace penstock {
namespace {

/// The style of a page, for light and dark screens. Pictures have white paper; a dark screen turns
/// their lightness over and keeps their hues.
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
.live { position: relative; }
.live > canvas { width: 100%; display: block; touch-action: none; cursor: crosshair;
  border: 1px solid var(--line); }
.live button { font: inherit; color: inherit; background: var(--head); padding: 0.1rem 0.7rem;
  border: 1px solid var(--line); border-radius: 4px; cursor: pointer; }
.live button[aria-pressed=true] { border-color: var(--mark); color: var(--mark); }
.tip { position: absolute; z-index: 1; margin: 0; padding: 0.25rem 0.5rem; white-space: pre;
  pointer-events: none; font-size: 13px; background: var(--head); border: 1px solid var(--line);
  border-radius: 4px; }
.legend { display: flex; flex-wrap: wrap; gap: 0.2rem 1rem; font-size: 13px; }
.legend i, .legend canvas { display: inline-block; width: 18px; height: 12px; margin-right: 5px; }
.finding { color: var(--faint); max-width: 32rem; }
)css";

/// Its script: sorts and filters the table, opens rows.
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
    '>=': (a, b) => a >= b, '<=': (a, b) => a <= b, '>': (a, b) => a > b, '<': (a, b) => a < b,
  };
  const passes = (row, column, wanted) => {
    const parts = /^(>=|<=|!=|>|<|=)\s*(.+)$/.exec(wanted);
    if (!parts) return row.texts[column].includes(wanted);
    const [, relation, text] = parts;
    const value = row.values[column], shown = row.texts[column], number = Number(text);
    // Cells show rounded numbers, and these are what a reader types.
    const same = shown === text ||
      (typeof value === 'number' && shown !== '' && (value === number || Number(shown) === number));
    if (relation === '=') return same;
    if (relation === '!=') return !same;
    if (typeof value !== 'number') return false;
    return same ? relation.endsWith('=') : relations[relation](value, number);
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

/// Writes the parts of a page in order.
class PageWriter {
 public:
  PageWriter(const ResultPage& page, const TextSink& sink) : page_(page), sink_(sink) {}

  void write() {
    head();
    sink_(fmt::format("<h1>{}</h1>\n<pre class=\"text\">{}</pre>\n", html_text(page_.title),
                      html_text(page_.summary)));
    for (const std::string& note : page_.notes) {
      sink_(fmt::format("<p class=\"note\">{}</p>\n", html_text(note)));
    }
    if (!page_.live.empty()) sink_("<h2>Timeline</h2>\n");
    sink_(page_.live);
    if (!page_.figures.empty()) sink_("<h2>Pictures</h2>\n");
    figures(page_.figures);
    for (const PageText& one : page_.texts) text("h2", one);
    table();
    sink_(fmt::format("<script>{}</script>\n</body>\n</html>\n", page_script));
  }

 private:
  // Nothing may be fetched: the policy holds for what a text might smuggle in, too.
  void head() {
    sink_(fmt::format(
        "<!DOCTYPE html>\n<!-- {} -->\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width\"/>\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'\"/>\n"
        "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n",
        own_mark, html_text(page_.title), page_style));
  }

  void figures(const std::vector<PageFigure>& all) {
    if (all.empty()) return;
    sink_("<div class=\"figures\">\n");
    for (const PageFigure& figure : all) {
      sink_(fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n",
                        inline_svg(figure.svg, pictures_++, figure.label),
                        html_text(figure.label)));
    }
    sink_("</div>\n");
  }

  void text(const char* heading, const PageText& text) {
    sink_(fmt::format("<{0}>{1}</{0}>\n<pre class=\"text\">{2}</pre>\n", heading,
                      html_text(text.heading), html_text(text.text)));
  }

  void table() {
    if (page_.columns.empty()) return;
    sink_(
        fmt::format("<h2>{} (<span id=\"count\">{}</span>)</h2>\n<p class=\"note\">Click a head to "
                    "sort. Filters take a part of the text, or &gt;= 8, &lt; 0.5, = 4.{}</p>\n"
                    "<div class=\"wide\">\n<table id=\"rows\">\n",
                    html_text(page_.table_heading), page_.rows.size(),
                    page_.detail ? " Click the first cell of a row to open it." : ""));
    table_head();
    for (std::size_t r = 0; r < page_.rows.size(); ++r) row(r);
    sink_("</table>\n</div>\n");
  }

  void table_head() {
    sink_("<thead>\n<tr>");
    for (const PageColumn& column : page_.columns) {
      sink_(fmt::format("<th{} title=\"{}\"><button type=\"button\">{}</button></th>",
                        column.number ? " class=\"number\"" : "", html_text(column.title),
                        html_text(column.label)));
    }
    sink_("</tr>\n<tr>");
    for (const PageColumn& column : page_.columns) {
      sink_(fmt::format("<th><input aria-label=\"filter {}\" placeholder=\"{}\"/></th>",
                        html_text(column.label), column.number ? "&gt;= 1" : "filter"));
    }
    sink_("</tr>\n</thead>\n");
  }

  void row(std::size_t number) {
    const auto& cells = page_.rows[number];
    sink_("<tbody>\n<tr>");
    for (std::size_t c = 0; c < cells.size(); ++c) {
      cell(page_.columns[c], cells[c], c == 0 && page_.detail != nullptr);
    }
    sink_("</tr>\n");
    if (page_.detail) detail(number);
    sink_("</tbody>\n");
  }

  void cell(const PageColumn& column, const PageCell& cell, bool opens) {
    const std::string value =
        cell.value.empty() ? "" : fmt::format(" data-v=\"{}\"", html_text(cell.value));
    const std::string text = html_text(cell.text);
    sink_(fmt::format(
        "<td{}{}>{}</td>", column.number ? " class=\"number\"" : "", value,
        opens ? "<button type=\"button\" aria-expanded=\"false\">" + text + "</button>" : text));
  }

  void detail(std::size_t row) {
    const PageDetail detail = page_.detail(row);
    sink_(fmt::format("<tr class=\"more\" hidden=\"\"><td colspan=\"{}\">", page_.columns.size()));
    figures(detail.figures);
    for (const PageText& one : detail.texts) text("h3", one);
    sink_("</td></tr>\n");
  }

  const ResultPage& page_;
  const TextSink& sink_;
  std::size_t pictures_ = 0;
};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

}  // namespace

void write_page(const ResultPage& page, const TextSink& sink) { PageWriter(page, sink).write(); }

std::string kept_in_order(std::string text) {
  for (std::size_t at = 0; (at = text.find('\xE2', at)) != std::string::npos; ++at) {
    const std::string_view letter = std::string_view(text).substr(at, 3);
    const bool turns =
        (letter >= "\u202A" && letter <= "\u202E") || (letter >= "\u2066" && letter <= "\u2069");
    if (turns) text.replace(at, letter.size(), "\uFFFD");
  }
  return text;
}

std::string html_text(std::string_view text) {
  std::string safe;
  for (const char c : kept_in_order(valid_text(text))) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string inline_svg(std::string_view svg, std::size_t number, std::string_view label) {
  std::string element(svg.substr(svg.find("<svg")));
  // HTML knows the namespace by the element; patterns of a hidden picture are not drawn elsewhere.
  replace_all(element, " xmlns=\"http://www.w3.org/2000/svg\"", "");
  replace_all(element, "id=\"hatch-", fmt::format("id=\"p{}-hatch-", number));
  replace_all(element, "url(#hatch-", fmt::format("url(#p{}-hatch-", number));
  return element.insert(4, fmt::format(" role=\"img\" aria-label=\"{}\"", html_text(label)));
}

}  // namespace penstock
