#include "experiments/program/pages/result_page.hpp"

#include <fmt/format.h>

#include "experiments/input/files/output_file.hpp"
#include "experiments/program/pages/html.hpp"
#include "experiments/program/pages/page_parts.hpp"

namespace penstock {
namespace {

/// Writes the parts of a page in order.
class PageWriter {
 public:
  PageWriter(const ResultPage& page, const TextSink& sink) : page_(page), sink_(sink) {}

  void write();

 private:
  void head();
  void figures(const std::vector<PageFigure>& all);
  void text(const char* heading, const PageText& text);
  void table();
  void table_head();
  void row(std::size_t number);
  void cell(const PageColumn& column, const PageCell& cell, bool opens);
  void detail(std::size_t row);

  const ResultPage& page_;
  const TextSink& sink_;
  std::size_t pictures_ = 0;
};

// Nothing may be fetched: the policy holds for what a text might smuggle in, too.
void PageWriter::head() {
  sink_(fmt::format(
      "<!DOCTYPE html>\n<!-- {} -->\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\"/>\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n",
      own_mark, html_text(page_.title), page_style));
}

void PageWriter::figures(const std::vector<PageFigure>& all) {
  if (all.empty()) return;
  sink_("<div class=\"figures\">\n");
  for (const PageFigure& figure : all) {
    sink_(fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n",
                      inline_svg(figure.svg, pictures_++, figure.label), html_text(figure.label)));
  }
  sink_("</div>\n");
}

void PageWriter::text(const char* heading, const PageText& text) {
  sink_(fmt::format("<{0}>{1}</{0}>\n<pre class=\"text\">{2}</pre>\n", heading,
                    html_text(text.heading), html_text(text.text)));
}

void PageWriter::table_head() {
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

void PageWriter::cell(const PageColumn& column, const PageCell& cell, bool opens) {
  const std::string value =
      cell.value.empty() ? "" : fmt::format(" data-v=\"{}\"", html_text(cell.value));
  const std::string text = html_text(cell.text);
  sink_(fmt::format(
      "<td{}{}>{}</td>", column.number ? " class=\"number\"" : "", value,
      opens ? "<button type=\"button\" aria-expanded=\"false\">" + text + "</button>" : text));
}

void PageWriter::detail(std::size_t row) {
  const PageDetail detail = page_.detail(row);
  sink_(fmt::format("<tr class=\"more\" hidden=\"\"><td colspan=\"{}\">", page_.columns.size()));
  figures(detail.figures);
  for (const PageText& one : detail.texts) text("h3", one);
  sink_("</td></tr>\n");
}

void PageWriter::row(std::size_t number) {
  const auto& cells = page_.rows[number];
  sink_("<tbody>\n<tr>");
  for (std::size_t c = 0; c < cells.size(); ++c) {
    cell(page_.columns[c], cells[c], c == 0 && page_.detail != nullptr);
  }
  sink_("</tr>\n");
  if (page_.detail) detail(number);
  sink_("</tbody>\n");
}

void PageWriter::table() {
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

void PageWriter::write() {
  head();
  sink_(fmt::format("<h1>{}</h1>\n<pre class=\"text\">{}</pre>\n", html_text(page_.title),
                    html_text(page_.summary)));
  for (const std::string& note : page_.notes) {
    sink_(fmt::format("<p class=\"note\">{}</p>\n", html_text(note)));
  }
  if (!page_.figures.empty()) sink_("<h2>Pictures</h2>\n");
  figures(page_.figures);
  for (const PageText& one : page_.texts) text("h2", one);
  table();
  sink_(fmt::format("<script>{}</script>\n</body>\n</html>\n", page_script));
}

}  // namespace

void write_page(const ResultPage& page, const TextSink& sink) { PageWriter(page, sink).write(); }

}  // namespace penstock
