#include <doctest/doctest.h>
#include <fmt/format.h>

#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

const std::string csv =
    "layer,examples,forward_us,backward_us,activation_bytes\na,2,4,8,6\na,4,6,12,12\n";

std::string profile_error(const std::string& path) {
  return refused_with<InputError>([&] { read_profile(path); });
}

/// The first block of some kind in a text in Markdown.
std::string block_of(const std::string& text, const std::string& kind) {
  const std::string fence = "```";
  const std::size_t start = text.find(fence + kind + "\n");
  REQUIRE(start != std::string::npos);
  const std::size_t inside = start + fence.size() + kind.size() + 1;
  return text.substr(inside, text.find(fence, inside) - inside);
}

/// All that a profile says of its layers.
std::string text_of(const Profile& profile) {
  std::string text;
  const auto number = [](std::optional<double> value) {
    return value ? fmt::format(" {}", *value) : std::string(" -");
  };
  for (const ProfileEntry& entry : profile.entries) {
    text += fmt::format("{} {}\n", entry.layer, entry.parameter_bytes);
    for (const ProfilePoint& point : entry.points) {
      text += fmt::format("{}", point.examples) + number(point.forward_us) +
              number(point.backward_us) + number(point.backward_input_us) +
              number(point.backward_weight_us) + number(point.activation_bytes) +
              number(point.stash_bytes) + "\n";
    }
  }
  return text;
}

}  // namespace

TEST_CASE("the two examples of the documentation of profiles say the same") {
  const std::string page = content_of(PENSTOCK_ROOT "/experiments/input/formats/profiles.md");
  const ModelFile json = parse_model_file(block_of(page, "json"));
  const ModelFile csv_file = parse_model_file(block_of(page, "csv"));
  CHECK(json.format == "profile-json");
  CHECK(csv_file.format == "profile-csv");
  CHECK(text_of(json.profile) ==
        "embedding 400000000\n8 16 30 - - 16000000 -\n32 40 90 - - 64000000 -\n"
        "head 0\n8 5 - 6 7 - 3000000\n");
  CHECK(text_of(csv_file.profile) == text_of(json.profile));
  CHECK(csv_file.graph.edges == json.graph.edges);
}

TEST_CASE("a profile is read from any format that holds one, and knows its file") {
  const Scratch scratch;
  const std::string path = scratch.file("p.csv", csv);
  const Profile profile = read_profile(path);
  CHECK(profile.source == path);
  CHECK(profile.entries.at(0).points.size() == 2);
  const std::string json = scratch.file(
      "p.json",
      R"({"penstock": 1, "profile": {"layers": [{"name": "a", "points": [{"examples": 1, "forward_us": 2}]}]}})");
  CHECK(read_profile(json).entries.at(0).layer == "a");
}

TEST_CASE("a file without a profile is refused by its name") {
  const Scratch scratch;
  const std::string path = scratch.file("s.json", R"({"fpgas": [{"nodes": [1]}]})");
  CHECK(profile_error(path) ==
        path +
            ": it is a file of the format dnn-placement, which holds no profile of "
            "layers at microbatch sizes");
  const std::string broken = scratch.file("b.csv", "layer,examples,forward_us\na,1,x\n");
  CHECK(profile_error(broken).starts_with(broken + ": row 1, column 2: "));
}

TEST_CASE("at a microbatch between two points, a layer takes what lies between their times") {
  // Half way from 2 to 4 examples: 5 of 4 to 6 us, 10 of 8 to 12 us, 9 of 6 to 12 bytes.
  const ModelGraph graph = graph_by_times(parse_model_file(csv), 3);
  REQUIRE(graph.layers.size() == 1);
  CHECK(graph.layers[0].forward_us == 5);
  CHECK(graph.layers[0].backward_us == 10);
  CHECK(!graph.layers[0].backward_input_us);
  CHECK(graph.layers[0].activation_bytes == 9);
  CHECK(graph.layers[0].key.examples == 3);
}

}  // namespace penstock::testing
