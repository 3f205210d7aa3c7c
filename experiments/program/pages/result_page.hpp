#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/files/output_file.hpp"

namespace penstock {

struct PageColumn {
  std::string label;
  std::string title;  // its whole name
  bool number = false;
};

struct PageCell {
  std::string text;
  std::string value = {};  // of a number: all of its digits; empty: the text
};

/// A text of a page, with its line ends.
struct PageText {
  std::string heading;
  std::string text;
};

struct PageFigure {
  std::string label;
  std::string svg;  // a whole SVG file
};

/// What opens below a row.
struct PageDetail {
  std::vector<PageText> texts;
  std::vector<PageFigure> figures;
};

/// A page: summary, pictures, texts and a table.
struct ResultPage {
  std::string title;
  std::string summary;
  std::vector<std::string> notes;  // of what the page leaves out
  std::string live;  // HTML of a timeline to pan and zoom, if any: see live_timeline.hpp
  std::vector<PageFigure> figures;
  std::vector<PageText> texts;
  std::string table_heading;
  std::vector<PageColumn> columns;
  std::vector<std::vector<PageCell>> rows;  // as many cells as columns each
  /// What opens below a row; called once for each, in order, as it is written. Empty: rows do not
  /// open.
  std::function<PageDetail(std::size_t row)> detail;
};

/// Writes the page as HTML that needs nothing else.
void write_page(const ResultPage& page, const TextSink& sink);

/// Characters that turn the direction of what follows, as a name in a trace may have, become
/// U+FFFD.
std::string kept_in_order(std::string text);

/// A text escaped for elements and quoted attributes of HTML. Invalid bytes, control characters
/// other than line ends, and those of `kept_in_order` become U+FFFD.
std::string html_text(std::string_view text);

/// An SVG file as an element of a page. `number` is its own in the page: names inside it get it.
std::string inline_svg(std::string_view svg, std::size_t number, std::string_view label);

}  // namespace penstock
