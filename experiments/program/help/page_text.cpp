#include "experiments/program/help/page_text.hpp"

#include "experiments/input/files/table.hpp"
#include "experiments/program/help/markdown.hpp"

namespace penstock {
namespace {

/// How many columns UTF-8 text takes.
std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (const char c : text) columns += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return columns;
}

/// Each line of `text` behind four spaces.
std::string indented(std::string_view text) {
  std::string lines;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && c != '\n') lines += "    ";
    lines += c;
    at_start = c == '\n';
  }
  return lines;
}

std::string block_text(const PageBlock& block) {
  switch (block.kind) {
    case PageBlock::Kind::heading:
      return plain_text(block.runs) + "\n";
    case PageBlock::Kind::paragraph:
      return wrapped(plain_text(block.runs), 0) + "\n";
    case PageBlock::Kind::item:
      return "- " + wrapped(plain_text(block.runs), 2) + "\n";
    case PageBlock::Kind::code:
      return indented(plain_text(block.runs));
    case PageBlock::Kind::table:
      break;
  }
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < block.rows.front().size(); ++i) left.push_back(i);
  return aligned(block.rows, left);
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent) {
  std::string lines;
  std::size_t column = indent;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const std::size_t width = columns_of(word);
    if (column > indent && column + 1 + width > help_columns) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += width;
    begin = end + 1;
  }
  return lines;
}

std::string page_text(std::string_view markdown) {
  std::string text;
  PageBlock::Kind before = PageBlock::Kind::heading;
  unsigned level = 1;  // of the last heading
  for (const PageBlock& block : parse_markdown(markdown)) {
    const bool next_item = block.kind == PageBlock::Kind::item && before == block.kind;
    const bool under_heading = before == PageBlock::Kind::heading && level > 1;
    if (!text.empty() && !next_item && !under_heading) text += "\n";
    text += block_text(block);
    before = block.kind;
    if (block.kind == PageBlock::Kind::heading) level = block.level;
  }
  return text;
}

}  // namespace penstock
