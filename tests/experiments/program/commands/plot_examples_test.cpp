#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "experiments/show/pictures/canvas.hpp"
#include "tests/support/pictures.hpp"
#include "tests/support/png.hpp"
#include "tests/support/program.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

// The examples of experiments/plots, one of each kind, as wide as a column of print.

namespace penstock::testing {
namespace {

using Words = std::vector<std::string>;

/// The commands of the examples, with their outputs in a folder.
std::vector<Words> example_commands(const std::string& folder) {
  std::istringstream lines(content_of(PENSTOCK_ROOT "/experiments/plots/commands.txt"));
  std::vector<Words> commands;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    Words& command = commands.emplace_back();
    for (std::string word; words >> word;) {
      const std::size_t place = word.find("$OUT");
      if (place != std::string::npos) word.replace(place, 4, folder);
      command.push_back(word);
    }
  }
  return commands;
}

/// "lines": the picture of an example without folder and suffix.
std::string name_of_example(const Words& command) {
  const std::string& path = command.back();
  const std::size_t begin = path.rfind('/') + 1;
  return path.substr(begin, path.rfind('.') - begin);
}

/// What the axes of each example say.
const std::map<std::string, Words>& axes_of_examples() {
  static const std::map<std::string, Words> axes{
      {"bubble", {"microbatches", "idle share of the makespan", "closed form"}},
      {"timeline", {"time (ms)", "rank 3"}},
      {"memory", {"time (s)", "rank 3", "stash", "optimizer"}},
      {"lines", {"bandwidth, GB/s", "step time, ms", "2", "32"}},
      {"heatmap", {"microbatches", "name", "zb-h1"}},
      {"pareto", {"step time, s", "memory of the fullest rank, GiB", "Pareto front"}},
      {"strong", {"devices", "samples per second", "in proportion"}},
      {"weak", {"devices", "step time, ms", "in proportion"}},
      {"published", {"published, s", "simulated, s"}},
      {"calibration", {"measured, ms", "predicted, ms"}}};
  return axes;
}

struct TextBox {
  std::string text;
  double left, right, top, bottom;
};

double attribute(const std::string& tag, const std::string& name) {
  const std::size_t at = tag.find(' ' + name + "=\"");
  return std::stod(tag.substr(at + name.size() + 3));
}

/// Where the texts of an SVG stand, as wide as Cairo draws them.
std::vector<TextBox> text_boxes(const std::string& svg) {
  Canvas ruler;
  std::vector<TextBox> boxes;
  const std::vector<std::string> texts = texts_in(svg);
  std::size_t at = 0;
  for (const std::string& text : texts) {
    at = svg.find("<text", at);
    const std::string tag = svg.substr(at, svg.find('>', at) - at);
    at += 5;
    TextStyle style{attribute(tag, "font-size")};
    style.bold = says(tag, "bold");
    const double width = ruler.text_width(text, style);
    double left = attribute(tag, "x");
    if (says(tag, "\"middle\"")) left -= width / 2;
    if (says(tag, "\"end\"")) left -= width;
    const double base = attribute(tag, "y");
    boxes.push_back({text, left, left + width, base - 0.72 * style.size, base + 0.2 * style.size});
  }
  return boxes;
}

/// "A over B" of the first two texts that touch, "A outside" of one that leaves the page.
std::string overlap_in(const std::string& svg) {
  const std::vector<TextBox> boxes = text_boxes(svg);
  const std::string head = svg.substr(svg.find("<svg"), 400);
  const double width = attribute(head, "width"), height = attribute(head, "height");
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const TextBox& a = boxes[i];
    if (a.left < 0 || a.right > width || a.top < 0 || a.bottom > height) return a.text + " outside";
    for (std::size_t j = 0; j < i; ++j) {
      const TextBox& b = boxes[j];
      const bool apart =
          a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
      if (!apart) return a.text + " over " + b.text;
    }
  }
  return "";
}

/// The bytes that an example draws with further options.
std::string drawn_example(Words command, const std::string& picture, const Words& options) {
  command.back() = picture;
  const ProgramRun run = run_penstock(with_words(command, options), PENSTOCK_ROOT);
  CHECK_MESSAGE(run.code == 0, run.errors);
  return content_of(picture);
}

}  // namespace

TEST_CASE("every kind of plot has an example with its axes, light and dark, on 85 mm") {
  const Scratch scratch;
  std::set<std::string> kinds, names;
  for (const Words& command : example_commands(scratch.path("."))) {
    if (command.front() != "plot") {
      CHECK(run_penstock(command, PENSTOCK_ROOT).code <= 1);
      continue;
    }
    kinds.insert(command[2]);
    const std::string name = name_of_example(command);
    names.insert(name);
    CAPTURE(name);
    std::vector<std::size_t> texts;
    for (const std::string theme : {"light", "dark"}) {
      CAPTURE(theme);
      const Words look{"--width", "85mm", "--theme", theme, "--csv", scratch.path(name + ".csv")};
      const std::string svg = drawn_example(command, scratch.path(name + ".svg"), look);
      CHECK(overlap_in(svg) == "");
      for (const std::string& text : axes_of_examples().at(name)) {
        CHECK_MESSAGE(has_text(svg, text), text);
      }
      texts.push_back(texts_in(svg).size());
      const Pixels png = pixels_of_png(drawn_example(command, scratch.path(name + ".png"), look));
      CHECK(png.width == 643);  // 85 mm, two pixels per 1/96 inch
      CHECK(png.all.front() == (theme == "dark" ? Colour{23, 23, 23} : Colour{255, 255, 255}));
      CHECK(drawn_share(png) > 0.02);
    }
    CHECK(texts[0] == texts[1]);
    const std::string csv = content_of(scratch.path(name + ".csv"));
    CHECK(std::count(csv.begin(), csv.end(), '\n') > 3);
  }
  CHECK(kinds.size() == 9);
  CHECK(names.size() == axes_of_examples().size());
}

TEST_CASE("texts that touch, and texts outside, are found") {
  const std::string page = R"(<svg width="100px" height="50px">)";
  const std::string a = R"(<text x="10" y="20" font-size="11" fill="#000">one</text>)";
  CHECK(overlap_in(page + a) == "");
  CHECK(overlap_in(page + a + R"(<text x="10" y="40" font-size="11" fill="#000">two</text>)") ==
        "");
  CHECK(overlap_in(page + a + R"(<text x="20" y="22" font-size="11" fill="#000">two</text>)") ==
        "two over one");
  CHECK(overlap_in(page + R"(<text x="99" y="20" font-size="11" fill="#000">one</text>)") ==
        "one outside");
}

}  // namespace penstock::testing
