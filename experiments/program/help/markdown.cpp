#include "experiments/program/help/markdown.hpp"

#include <md4c.h>

#include "experiments/input/files/table.hpp"

namespace penstock {
namespace {

/// Builds the blocks from the calls of the parser.
class PageBuilder {
 public:
  void enter(MD_BLOCKTYPE type, void* detail) {
    switch (type) {
      case MD_BLOCK_H:
        begin(PageBlock::Kind::heading, static_cast<MD_BLOCK_H_DETAIL*>(detail)->level);
        break;
      case MD_BLOCK_P:
        begin(PageBlock::Kind::paragraph);
        break;
      case MD_BLOCK_LI:
        begin(PageBlock::Kind::item);
        break;
      case MD_BLOCK_CODE:
        begin(PageBlock::Kind::code);
        break;
      case MD_BLOCK_TABLE:
        begin(PageBlock::Kind::table);
        break;
      case MD_BLOCK_TR:
        blocks_.back().rows.emplace_back();
        break;
      case MD_BLOCK_TH:
      case MD_BLOCK_TD:
        blocks_.back().rows.back().emplace_back();
        break;
      default:
        break;
    }
  }

  void enter(MD_SPANTYPE type) {
    if (type == MD_SPAN_CODE) style_ = TextRun::Style::code;
    if (type == MD_SPAN_STRONG) style_ = TextRun::Style::bold;
  }
  void leave_span() { style_ = TextRun::Style::plain; }

  void add(MD_TEXTTYPE type, std::string_view text) {
    if (blocks_.empty()) return;
    if (type == MD_TEXT_SOFTBR || type == MD_TEXT_BR) text = " ";
    PageBlock& block = blocks_.back();
    if (block.kind == PageBlock::Kind::table) {
      block.rows.back().back() += text;
      return;
    }
    if (block.runs.empty() || block.runs.back().style != style_) block.runs.push_back({style_, ""});
    block.runs.back().text += text;
  }

  std::vector<PageBlock> blocks() && { return std::move(blocks_); }

 private:
  void begin(PageBlock::Kind kind, unsigned level = 0) {
    // A paragraph in front of which its item just began is that item's text.
    const bool in_item = kind == PageBlock::Kind::paragraph && !blocks_.empty() &&
                         blocks_.back().kind == PageBlock::Kind::item &&
                         blocks_.back().runs.empty();
    if (!in_item) blocks_.push_back({kind, level, {}, {}});
  }

  std::vector<PageBlock> blocks_;
  TextRun::Style style_ = TextRun::Style::plain;
};

PageBuilder& builder(void* data) { return *static_cast<PageBuilder*>(data); }

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

std::vector<PageBlock> parse_markdown(std::string_view text) {
  PageBuilder blocks;
  MD_PARSER parser{};
  parser.flags = MD_FLAG_TABLES | MD_FLAG_NOHTML;
  parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* data) {
    builder(data).enter(type, detail);
    return 0;
  };
  parser.leave_block = [](MD_BLOCKTYPE, void*, void*) { return 0; };
  parser.enter_span = [](MD_SPANTYPE type, void*, void* data) {
    builder(data).enter(type);
    return 0;
  };
  parser.leave_span = [](MD_SPANTYPE, void*, void* data) {
    builder(data).leave_span();
    return 0;
  };
  parser.text = [](MD_TEXTTYPE type, const MD_CHAR* piece, MD_SIZE size, void* data) {
    builder(data).add(type, {piece, size});
    return 0;
  };
  md_parse(text.data(), static_cast<MD_SIZE>(text.size()), &parser, &blocks);
  return std::move(blocks).blocks();
}

std::string plain_text(const std::vector<TextRun>& runs) {
  std::string text;
  for (const TextRun& run : runs) text += run.text;
  return text;
}

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
