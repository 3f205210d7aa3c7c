#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/pictures.hpp"
#include "tests/support/program.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

/// Two stages with sizes; 2 ranks, 4 microbatches.
constexpr const char* sized = R"({
  "model": { "stages": [
    { "forward_us": 10, "backward_us": 20, "stash_bytes": 1048576, "parameter_bytes": 4096 },
    { "forward_us": 10, "backward_us": 20, "stash_bytes": 1048576, "parameter_bytes": 4096 } ] },
  "hardware": { "name": "ideal", "devices": 2 },
  "schedule": { "name": "1f1b", "microbatches": 4 } })";

struct PictureDesk : Desk {
  PictureDesk() { file("s.json", sized); }
};

}  // namespace

TEST_CASE("pictures: a file whose suffix is that of another format is refused before the run") {
  const PictureDesk desk;
  for (const char* command : {"run", "explain"}) {
    CAPTURE(command);
    const ProgramRun run = desk.run({command, "s.json", "--png", "x.svg"});
    CHECK(run.code == 2);
    CHECK(run.output.empty());
    CHECK(says(run.errors, "--png x.svg"));
    CHECK_FALSE(desk.has("x.svg"));
  }
  CHECK(desk.run({"run", "s.json", "--svg", "x"}).code == 2);
  CHECK(desk.run({"run", "s.json", "--svg", "x.svg"}).code == 0);
}

TEST_CASE("pictures: a cut is drawn as PNG") {
  const PictureDesk desk;
  const std::string model = std::string(PENSTOCK_ROOT) + "/experiments/models/llama-3.1-8b.json";
  const ProgramRun run =
      desk.run({"partition", model, "--hardware", "dgx-h100", "--ranks", "4", "--png", "cut.png"});
  CHECK(run.code == 0);
  REQUIRE(desk.has("cut.png"));
  const std::string picture = content_of(desk.path("cut.png"));
  CHECK(picture.substr(0, 8) == "\x89PNG\r\n\x1a\n");
  CHECK(picture.size() > 1000);
}

TEST_CASE("pictures: each command that draws takes width, height, title and font size") {
  const PictureDesk desk;
  const std::vector<std::string> look{"--width",     "321", "--height", "300",
                                      "--font-size", "8",   "--title",  "Figure 1"};
  const std::vector<std::vector<std::string>> commands{
      {"run", "s.json", "--svg", "a.svg"},
      {"explain", "s.json", "--svg", "a.svg"},
      {"plot", "s.json", "--kind", "timeline", "-o", "a.svg"},
      {"plot", "s.json", "--kind", "memory", "-o", "a.svg"},
      {"plot", "--kind", "bubble", "--schedules", "1f1b", "--microbatches", "2", "-o", "a.svg"}};
  for (const std::vector<std::string>& command : commands) {
    CAPTURE(command[0]);
    REQUIRE(desk.run(with_words(command, look)).code == 0);
    const std::string svg = content_of(desk.path("a.svg"));
    CHECK(says(svg, "width=\"321px\" height=\"300px\""));
    CHECK(says(svg, ">Figure 1</text>"));
    CHECK(says(svg, "font-size=\"8\""));
  }
  CHECK(desk.run({"run", "s.json", "--svg", "b.svg", "--width", "20"}).code == 2);
  for (const char* command : {"run", "explain"}) {
    const ProgramRun none = desk.run({command, "s.json", "--width", "321"});
    CHECK(none.code == 2);
    CHECK(says(none.errors, "give --svg, --png or --pdf"));
  }
  CHECK(desk.run({"run", "s.json", "--svg", "b.svg", "--font-size", "100"}).code == 2);
}

TEST_CASE("gallery: it makes its folder") {
  const PictureDesk desk;
  REQUIRE(desk.run({"gallery", "--ranks", "2", "--microbatches", "4", "-o", "new/folder"}).code ==
          0);
  CHECK(desk.has("new/folder/1f1b.svg"));
  const ProgramRun file = desk.run({"gallery", "-o", "s.json"});
  CHECK(file.code == 2);
  CHECK(says(file.errors, "s.json: cannot make this folder: "));
}

TEST_CASE("gallery: one that is stopped leaves no folder") {
  const PictureDesk desk;
  CHECK(desk.run({"gallery", "--ranks", "64", "--microbatches", "4096", "-o", "new/folder",
                  "--timeout", "0.1"})
            .code == 4);
  CHECK_FALSE(desk.has("new"));
}

TEST_CASE("gallery: the committed pictures have the titles that it draws") {
  const PictureDesk desk;
  REQUIRE(desk.run({"gallery", "-o", "drawn"}).code == 0);
  for (const auto& file :
       std::filesystem::directory_iterator(PENSTOCK_ROOT "/experiments/gallery")) {
    const std::string name = file.path().filename();
    CAPTURE(name);
    const auto committed = texts_in(content_of(file.path()));
    const auto now = texts_in(content_of(desk.path("drawn/" + name)));
    CHECK(std::equal(now.begin(), now.begin() + 2, committed.begin()));
  }
}

TEST_CASE("plot: the data of each kind are CSV, with a picture or without") {
  const PictureDesk desk;
  REQUIRE(desk.run({"run", "s.json", "--timeline", "s.timeline"}).code == 0);
  for (const char* from : {"s.json", "s.timeline"}) {
    CAPTURE(from);
    const ProgramRun memory = desk.run({"plot", from, "--kind", "memory", "--csv", "-"});
    CHECK(memory.code == 0);
    // A timeline file has the sum of all kinds.
    const std::string kinds = std::string(from) == "s.json" ? ",parameters,stash" : "";
    CHECK(memory.output.starts_with("rank,time_us,bytes" + kinds + "\n0,0,"));
    const ProgramRun timeline = desk.run({"plot", from, "--kind", "timeline", "--csv", "-"});
    CHECK(says(timeline.output, "\n0,,F,0,0,0,10\n"));
  }
  const ProgramRun bubble = desk.run({"plot", "--kind", "bubble", "--ranks", "6", "--schedules",
                                      "interleaved-1f1b", "--microbatches", "6,8", "--csv", "-"});
  CHECK(bubble.code == 0);
  CHECK(says(bubble.output, "\n\"interleaved-1f1b, 2 chunks\",8,of_makespan,,"));
  CHECK(says(bubble.errors, "no point at 8 microbatches"));
}

TEST_CASE("plot: a run is drawn as its timeline where no kind is given, rows of a sweep as lines") {
  const PictureDesk desk;
  REQUIRE(desk.run({"run", "s.json", "--timeline", "s.timeline"}).code == 0);
  REQUIRE(desk.run({"sweep", "s.json", "--vary", "/schedule/microbatches=1..4", "-o", "s.jsonl"})
              .code == 0);
  const auto draws_as = [&](const std::string& file, const std::string& kind) {
    const std::string named = desk.run({"plot", file, "--kind", kind, "--csv", "-"}).output;
    CHECK(!named.empty());
    CHECK(desk.run({"plot", file, "--csv", "-"}).output == named);
  };
  draws_as("s.json", "timeline");
  draws_as("s.timeline", "timeline");
  draws_as("s.jsonl", "lines");
  CHECK(desk.run({"plot", "-o", "a.svg"}).code == 2);
}

TEST_CASE("plot: a run that does not finish is a finding to all that need its timeline") {
  const PictureDesk desk;
  std::string stalled = sized;
  stalled.insert(stalled.rfind('}'),
                 R"(, "memory": {"capacity_bytes": 1500000, "policy": "stall"})");
  desk.file("stalled.json", stalled);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"plot", "stalled.json", "--kind", "memory", "-o", "a.svg"},
        {"plot", "stalled.json", "-o", "a.svg"},
        {"compare", "s.json", "stalled.json"},
        {"convert", "stalled.json", "a.timeline"}}) {
    CAPTURE(command[0]);
    const ProgramRun run = desk.run(command);
    CHECK(run.code == 1);
    CHECK(run.errors ==
          "penstock: stalled.json: its run does not finish and has no timeline: deadlock: at 40 µs "
          "0F1 waits for memory of rank 0: it needs 1 MiB more, and 1.004 MiB of 1.431 MiB are in "
          "use; 1F1 waits for 0SEND_F1\n");
  }
  CHECK_FALSE(desk.has("a.svg"));
  CHECK(desk.run({"run", "stalled.json"}).code == 1);
}

TEST_CASE("plot: a study of bubbles keeps to --max-memory") {
  const PictureDesk desk;
  const ProgramRun run =
      desk.run({"plot", "--kind", "bubble", "--schedules", "1f1b", "--microbatches", "65536", "-o",
                "a.svg", "--max-memory", "100MB"});
  CHECK(run.code == 3);
  CHECK(says(run.errors, "--schedules: 1f1b of 8 stages and 65536 microbatches needs"));
}

TEST_CASE("plot: options that do not go together are refused") {
  const PictureDesk desk;
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"plot", "--kind", "bubble"},
           {"plot", "--kind", "memory", "-o", "a.svg"},
           {"plot", "s.json", "--kind", "bubble", "-o", "a.svg"},
           {"plot", "s.json", "--kind", "timeline", "--ranks", "4", "-o", "a.svg"},
           {"plot", "s.json", "--kind", "timeline", "-o", "a.gif"}}) {
    CHECK(desk.run(command).code == 2);
  }
  CHECK(desk.run({"plot", "s.json", "--kind", "calibration", "-o", "a.svg"}).code == 3);
}

}  // namespace penstock::testing
