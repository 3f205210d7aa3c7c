#include "experiments/program/help/man_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "experiments/input/files/output_file.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/program/help/markdown.hpp"
#include "experiments/version.hpp"

namespace penstock {
namespace {

/// Text as roff reads it: no line is taken for a request, no character for another.
std::string roff(std::string_view text) {
  std::string escaped;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
    at_start = c == '\n';
  }
  return escaped;
}

std::string roff(const std::vector<TextRun>& runs) {
  std::string text;
  for (const TextRun& run : runs) {
    const std::string piece = roff(run.text);
    text += run.style == TextRun::Style::plain ? piece : "\\fB" + piece + "\\fR";
  }
  return text;
}

std::string as_it_is(std::string_view text) {
  return fmt::format(".PP\n.RS 4\n.nf\n{}.fi\n.RE\n", roff(text));
}

std::string block_roff(const PageBlock& block) {
  switch (block.kind) {
    case PageBlock::Kind::heading: {
      std::string title = plain_text(block.runs);
      std::transform(title.begin(), title.end(), title.begin(),
                     [](unsigned char c) { return std::toupper(c); });
      return fmt::format(".SH {}\n", roff(title));
    }
    case PageBlock::Kind::paragraph:
      return fmt::format(".PP\n{}\n", roff(block.runs));
    case PageBlock::Kind::item:
      return fmt::format(".IP \\(bu 2\n{}\n", roff(block.runs));
    case PageBlock::Kind::code:
      return as_it_is(plain_text(block.runs));
    case PageBlock::Kind::table:
      break;
  }
  return as_it_is(aligned(block.rows, {0}));
}

std::string head(const std::string& name, int section, std::string_view what) {
  return fmt::format(".TH \"{}\" {} \"\" \"penstock {}\"\n.\\\" {}\n.SH NAME\n{} \\- {}\n",
                     roff(name), section, version, own_mark, roff(name), roff(what));
}

std::string options_roff(const CommandHelp& help) {
  std::string text;
  for (const ArgumentInfo& argument : help.arguments) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(head_of(argument)), roff(argument.help));
  }
  for (const CommandHelp& sub : help.subcommands) {
    text +=
        fmt::format(".SS {}\n{}\n{}", roff(usage_of(sub)), roff(sub.summary), options_roff(sub));
  }
  return text;
}

/// The blocks of a page behind its title.
std::string body_roff(const HelpPage& page) {
  std::string text;
  bool is_title = true;
  bool has_section = false;
  for (const PageBlock& block : parse_markdown(page.text)) {
    const bool heading = block.kind == PageBlock::Kind::heading;
    if (!is_title && !heading && !has_section) text += ".SH DESCRIPTION\n";
    has_section = has_section || !is_title;
    if (!is_title) text += block_roff(block);
    is_title = false;
  }
  return text;
}

}  // namespace

std::string man_page(const CommandHelp& help, const HelpPage& page) {
  std::string name = help.name;
  std::replace(name.begin(), name.end(), ' ', '-');
  return head(name, 1, help.summary) +
         fmt::format(".SH SYNOPSIS\n\\fB{}\\fR\n.SH OPTIONS\n{}", roff(usage_of(help)),
                     options_roff(help)) +
         body_roff(page);
}

std::string man_page(const HelpPage& guide) {
  return head(fmt::format("penstock-{}", guide.name), 7, title_of(guide)) + body_roff(guide);
}

}  // namespace penstock
