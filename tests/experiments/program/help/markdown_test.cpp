#include "experiments/program/help/markdown.hpp"

#include <doctest/doctest.h>

#include "experiments/program/help/pages.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

constexpr const char* page =
    "# Title\n\nOne **bold** word and `code`,\non two lines.\n\n## Part\n\n- first\n- second "
    "[link](x.md)\n\n```sh\n.a -b\n  c\\n\n```\n\n| n | value |\n|---|---|\n| a | 12 |\n";

}  // namespace

TEST_CASE("markdown: headings, paragraphs, lists, code and tables become blocks") {
  const std::vector<PageBlock> blocks = parse_markdown(page);
  REQUIRE(blocks.size() == 7);
  CHECK(blocks[0].kind == PageBlock::Kind::heading);
  CHECK(blocks[0].level == 1);
  CHECK(plain_text(blocks[1].runs) == "One bold word and code, on two lines.");
  CHECK(blocks[1].runs[1].style == TextRun::Style::bold);
  CHECK(blocks[1].runs[3].style == TextRun::Style::code);
  CHECK(blocks[2].level == 2);
  CHECK(plain_text(blocks[4].runs) == "second link");
  CHECK(plain_text(blocks[5].runs) == ".a -b\n  c\\n\n");
  CHECK(blocks[6].rows == std::vector<std::vector<std::string>>{{"n", "value"}, {"a", "12"}});
}

TEST_CASE("a page as text: code behind four spaces, items together, tables aligned") {
  CHECK(page_text(page) ==
        "Title\n\nOne bold word and code, on two lines.\n\nPart\n- first\n- second link\n\n"
        "    .a -b\n      c\\n\n\nn  value\na  12\n");
}

TEST_CASE("wrapped: lines of at most 80 columns, UTF-8 counted by letters") {
  std::string words;
  for (int i = 0; i < 60; ++i) words += "µs2 ";
  const std::string text = wrapped(words, 10);
  std::size_t begin = 0;
  std::size_t lines = 0;
  for (; begin < text.size(); ++lines) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    // Two bytes a µ: 17 words of 4 columns fit behind 10.
    CHECK(end - begin <= 10 + 17 * 5);
    begin = end + 1;
  }
  CHECK(lines == 4);
}

TEST_CASE("a man page: requests are escaped, options listed") {
  const CommandHelp help{.name = "penstock try",
                         .summary = "try it",
                         .example = "",
                         .arguments = {{.names = {"-o", "--output"},
                                        .placeholder = "FILE",
                                        .help = "write it",
                                        .group = "Options",
                                        .takes_value = true}},
                         .subcommands = {}};
  const std::string text = man_page(help, HelpPage{"try", page});
  CHECK(says(text, "\\fBpenstock try [OPTIONS]\\fR"));
  CHECK(says(text, ".TP\n\\fB\\-o, \\-\\-output FILE\\fR\nwrite it\n"));
  CHECK(says(text, "\n\\&.a \\-b\n  c\\en\n"));
  CHECK(says(text, ".SH PART\n"));
}

}  // namespace penstock::testing
