#include <doctest/doctest.h>

#include <algorithm>
#include <regex>

#include "experiments/input/files/files.hpp"
#include "experiments/input/formats/reading/read_model_file.hpp"
#include "tests/support/model_files.hpp"

namespace penstock::testing {
namespace {

/// Three modules on two stages; the first stage has two replicas.
const std::string hybrid = R"({
  "module_to_stage_map": [0, 1, 1],
  "stage_to_rank_map": {"0": [0, 1], "1": [2]},
  "stage_to_depth_map": {"0": 1, "1": 0}
})";

std::string pipedream_conf_with(const std::string& what, const std::string& by) {
  return refusal_of_model(replaced(hybrid, what, by));
}

/// The numbers between the brackets behind a key.
std::vector<std::uint32_t> numbers_behind(const std::string& text, const std::string& key) {
  std::smatch list;
  REQUIRE(std::regex_search(text, list, std::regex(key + R"(:\s*\[([0-9, ]*)\])")));
  const std::string inside = list[1];
  const std::regex number("[0-9]+");
  std::vector<std::uint32_t> numbers;
  for (std::sregex_iterator at(inside.begin(), inside.end(), number), end; at != end; ++at) {
    numbers.push_back(static_cast<std::uint32_t>(std::stoul(at->str())));
  }
  return numbers;
}

}  // namespace

TEST_CASE("pipedream-conf: modules are the layers of stages, and stages have their ranks") {
  const ModelFile file = parse_model_file(hybrid);
  CHECK(file.format == "pipedream-conf");
  CHECK(file.stages == StageLayers{{LayerIndex{0}}, {LayerIndex{1}, LayerIndex{2}}});
  CHECK(file.ranks == std::vector<std::vector<Rank>>{{Rank{0}, Rank{1}}, {Rank{2}}});
  CHECK(file.graph.layers.empty());
  CHECK(has_note(file, "stage_to_depth_map"));
}

TEST_CASE("pipedream-conf: keys without quotes are read as quoted, and noted") {
  const ModelFile file = parse_model_file(replaced(hybrid, "\"1\": [2]", "1: [2]"));
  CHECK(file.ranks[1] == std::vector{Rank{2}});
  CHECK(has_note(file, "without quotes"));
  CHECK(!has_note(parse_model_file(hybrid), "without quotes"));
}

TEST_CASE("pipedream-conf: what does not fit is refused with its pointer") {
  CHECK(pipedream_conf_with("[0, 1, 1]", "[0, 2, 2]") ==
        "/module_to_stage_map: no module is of stage 1; stages are numbered from 0 without gaps");
  CHECK(pipedream_conf_with("[0, 1, 1]", "[0, 1, 1000000000]") ==
        "/module_to_stage_map/2: 1000000000 is not a whole number from 0 to 2");
  CHECK(pipedream_conf_with("[0, 1, 1]", "[0, 1, -1]")
            .starts_with("/module_to_stage_map/2: -1 is not "));
  CHECK(pipedream_conf_with("[0, 1, 1]", "[0, 1, 0.5]")
            .starts_with("/module_to_stage_map/2: 0.5 is not "));
  CHECK(pipedream_conf_with("[0, 1, 1]", "[]") ==
        "/module_to_stage_map: there are no modules; one at least is needed");
  CHECK(pipedream_conf_with("[0, 1, 1]", "null") == "/module_to_stage_map: null is not a list");
  CHECK(pipedream_conf_with("\"module_to_stage_map\"", "\"modules\"") ==
        "/module_to_stage_map: \"module_to_stage_map\" is missing");
  CHECK(pipedream_conf_with("\"stage_to_rank_map\"", "\"ranks\"") ==
        "/stage_to_rank_map: \"stage_to_rank_map\" is missing");
  CHECK(pipedream_conf_with("\"1\": [2]", "\"2\": [2]") ==
        "/stage_to_rank_map/2: there is no stage \"2\"; module_to_stage_map has the stages 0 to 1");
  CHECK(pipedream_conf_with("\"1\": [2]", "\"one\": [2]")
            .starts_with("/stage_to_rank_map/one: there is no stage \"one\"; "));
  CHECK(pipedream_conf_with(", \"1\": [2]", "") ==
        "/stage_to_rank_map: stage 1 has no ranks; each stage needs one at least");
  CHECK(pipedream_conf_with("[2]", "[1]") ==
        "/stage_to_rank_map/1/0: rank 1 appears twice; a rank has one stage");
  CHECK(pipedream_conf_with("[2]", "[99999]").starts_with("/stage_to_rank_map/1/0: 99999 is not "));
  CHECK(pipedream_conf_with("[2]", "2") == "/stage_to_rank_map/1: 2 is not a list");
  CHECK(pipedream_conf_with("\"1\": 0", "\"1\": \"x\"")
            .starts_with("/stage_to_depth_map/1: \"x\" is not "));
  CHECK(pipedream_conf_with("\"1\": 0", "\"7\": 0")
            .starts_with("/stage_to_depth_map/7: there is no stage \"7\""));
}

TEST_CASE("pipedream-conf: what is no JSON is refused with line and column") {
  CHECK(pipedream_conf_with("\"1\": 0}\n}", "\"1\": 0}").starts_with("line 4, column "));
  CHECK(pipedream_conf_with("\"1\": [2]", "one: [2]").starts_with("line 3, column "));
  CHECK(pipedream_conf_with("\"1\": [2]", "1: [2] 3: [4]").starts_with("line 3, column "));
  CHECK(refusal_of_model(hybrid.substr(0, 60)).starts_with("line 3, column "));
  CHECK(pipedream_conf_with("[2]", "[" + std::string(100000, '9') + "]").size() < 300);
}

TEST_CASE("pipedream-conf: every recorded file reads, with the stages and ranks of its text") {
  for (const std::string& path : oracle_files("partition/pipedream_runtime_conf")) {
    CAPTURE(path);
    const std::string text = read_file(path);
    const ModelFile file = parse_model_file(text);
    CHECK(file.format == "pipedream-conf");
    const auto modules = numbers_behind(text, "\"module_to_stage_map\"");
    for (std::uint32_t module = 0; module < modules.size(); ++module) {
      const auto& stage = file.stages.at(modules[module]);
      CHECK(std::count(stage.begin(), stage.end(), LayerIndex{module}) == 1);
    }
    REQUIRE(file.ranks.size() == *std::max_element(modules.begin(), modules.end()) + 1);
    for (std::size_t stage = 0; stage < file.ranks.size(); ++stage) {
      std::vector<std::uint32_t> ranks;
      for (const Rank rank : file.ranks[stage]) ranks.push_back(index(rank));
      CHECK(ranks == numbers_behind(text, "[{,]\\s*\"?" + std::to_string(stage) + "\"?"));
    }
  }
}

}  // namespace penstock::testing
