#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// A stretch of text in one style.
struct TextRun {
  enum class Style { plain, code, bold };

  Style style = Style::plain;
  std::string text;
};

/// A block of a page. Pages use headings, paragraphs, lists of one level, code and tables alone.
struct PageBlock {
  enum class Kind { heading, paragraph, item, code, table };

  Kind kind = Kind::paragraph;
  unsigned level = 0;                          // of a heading, from 1
  std::vector<TextRun> runs;                   // of code, one run with all lines
  std::vector<std::vector<std::string>> rows;  // of a table, the head first
};

/// The blocks of a Markdown text. Links keep their text alone.
std::vector<PageBlock> parse_markdown(std::string_view text);

/// The text of runs without their styles.
std::string plain_text(const std::vector<TextRun>& runs);

/// The width that help is printed in.
constexpr std::size_t help_columns = 80;

/// A page as text for a terminal, in lines of at most help_columns where words allow.
std::string page_text(std::string_view markdown);

/// `text` in lines of at most help_columns. Lines after the first begin with `indent` spaces; the
/// first is taken to begin at column `indent` already.
std::string wrapped(std::string_view text, std::size_t indent);

}  // namespace penstock
