#include <doctest/doctest.h>

#include "experiments/input/formats/reading/read_model_file.hpp"
#include "tests/support/model_files.hpp"

namespace penstock::testing {
namespace {

/// Two layers; the first on 8 and on 32 examples, stated the other way round.
const std::string profile_json_plain = R"({ "penstock": 1, "profile": { "device": "A100",
  "layers": [
    { "name": "embedding", "parameter_bytes": 400, "points": [
      { "examples": 32, "forward_us": 40, "backward_us": 90, "activation_bytes": 64 },
      { "examples": 8, "forward_us": 16, "backward_us": 30, "activation_bytes": 16 } ] },
    { "name": "head", "points": [
      { "examples": 8, "forward_us": 5, "backward_input_us": 6, "backward_weight_us": 7,
        "stash_bytes": 3 } ] } ] } })";

std::string profile_json_with(const std::string& what, const std::string& by) {
  return refusal_of_model(replaced(profile_json_plain, what, by));
}

std::string with_edges(const std::string& edges) {
  return profile_json_with("} ] } ] } }", "} ] } ], \"edges\": " + edges + " } }");
}

}  // namespace

TEST_CASE(
    "profile-json: layers have their points in ascending order, and what they do not say is "
    "absent") {
  const ModelFile file = parse_model_file(profile_json_plain);
  CHECK(file.format == "profile-json");
  CHECK(file.profile.device == "A100");
  REQUIRE(file.profile.entries.size() == 2);
  const ProfileEntry& embedding = file.profile.entries[0];
  CHECK(embedding.layer == "embedding");
  CHECK(embedding.parameter_bytes == 400);
  REQUIRE(embedding.points.size() == 2);
  CHECK(embedding.points[0].examples == 8);
  CHECK(embedding.points[0].forward_us == 16);
  CHECK(embedding.points[1].backward_us == 90);
  CHECK(embedding.points[1].activation_bytes == 64);
  CHECK(!embedding.points[1].stash_bytes);
  const ProfilePoint& head = file.profile.entries[1].points.at(0);
  CHECK(!head.backward_us);
  CHECK(head.backward_input_us == 6);
  CHECK(head.backward_weight_us == 7);
  CHECK(head.stash_bytes == 3);
}

TEST_CASE("profile-json: the graph names the layers; without edges each feeds the next") {
  const ModelFile chain = parse_model_file(profile_json_plain);
  REQUIRE(chain.graph.layers.size() == 2);
  CHECK(chain.graph.layers[1].name == "head");
  CHECK(chain.graph.layers[0].parameter_bytes == 400);
  CHECK(chain.graph.layers[1].source == "/profile/layers/1");
  CHECK(!chain.graph.layers[0].forward_us);
  REQUIRE(chain.graph.edges.size() == 1);
  CHECK(chain.graph.edges[0] == std::pair{LayerIndex{0}, LayerIndex{1}});
  const ModelFile turned = parse_model_file(
      replaced(profile_json_plain, "\"layers\"", "\"edges\": [[1, 0]], \"layers\""));
  REQUIRE(turned.graph.edges.size() == 1);
  CHECK(turned.graph.edges[0] == std::pair{LayerIndex{1}, LayerIndex{0}});
}

TEST_CASE("profile-json: what does not fit is refused with its pointer") {
  CHECK(profile_json_with("\"forward_us\": 40", "\"forward_us\": -40")
            .starts_with("/profile/layers/0/points/0/forward_us: -40 is not "));
  CHECK(profile_json_with("\"forward_us\": 40,", "") ==
        "/profile/layers/0/points/0/forward_us: \"forward_us\" is missing");
  CHECK(profile_json_with("\"forward_us\": 40", "\"forward_us\": 1e13")
            .starts_with("/profile/layers/0/points/0/forward_us: "));
  CHECK(profile_json_with("\"examples\": 32", "\"examples\": 0")
            .starts_with("/profile/layers/0/points/0/examples: 0 is not "));
  CHECK(
      profile_json_with("\"examples\": 32", "\"examples\": 8") ==
      "/profile/layers/0/points/1/examples: there is a point of 8 examples already; each number of "
      "examples has one");
  CHECK(profile_json_with("\"name\": \"head\"", "\"name\": \"embedding\"") ==
        "/profile/layers/1/name: layer 0 has this name already; each layer has its own");
  CHECK(profile_json_with("\"name\": \"head\", ", "") ==
        "/profile/layers/1/name: \"name\" is missing");
  CHECK(profile_json_with("\"stash_bytes\"", "\"stash\"")
            .starts_with("/profile/layers/1/points/0/stash: unknown key \"stash\"; did you mean "
                         "\"stash_bytes\"? known: "));
  CHECK(profile_json_with("\"penstock\": 1, ", "") == "/penstock: \"penstock\" is missing");
  CHECK(
      profile_json_with("\"penstock\": 1", "\"penstock\": 2").starts_with("/penstock: 2 is not "));
  CHECK(refusal_of_model(R"({"penstock": 1, "profile": {"layers": []}})")
            .starts_with("/profile/layers: [] is not "));
  CHECK(refusal_of_model(R"({"penstock": 1, "profile": []})").starts_with("/profile: [] is not "));
  CHECK(profile_json_with("\"device\": \"A100\"", "\"device\": 100")
            .starts_with("/profile/device: 100 is not"));
  CHECK(refusal_of_model(profile_json_plain.substr(0, profile_json_plain.size() - 2))
            .starts_with("line 8, column "));
}

TEST_CASE("profile-json: edges that make no graph are refused with their pointer") {
  CHECK(with_edges("[[0, 1]]") == "accepted");
  CHECK(with_edges("[]") == "accepted");
  CHECK(with_edges("[[0, 2]]") == "/profile/edges/0/1: unknown layer 2; layers are 0 to 1");
  CHECK(with_edges("[[0, 1], [1, 0]]")
            .ends_with(": the edge is part of a cycle; a model is a graph without cycles"));
  CHECK(with_edges("[[1, 1]]").starts_with("/profile/edges/0: the edge is part of a cycle"));
  CHECK(with_edges("[[0]]").starts_with("/profile/edges/0: [0] is not "));
  CHECK(with_edges("[0, 1]").starts_with("/profile/edges/0: 0 is not "));
  CHECK(with_edges("[[0, -1]]").starts_with("/profile/edges/0/1: -1 is not "));
}

TEST_CASE(
    "profile-json: entries of one kind differ by their numbers, and name the rows they are of") {
  const std::string text = R"({ "penstock": 1, "profile": { "taken_at": "2026-11-21T00:00:00Z",
    "environment": { "cpu": "x" },
    "rows": [ { "id": 3, "state": "valid", "kernel": "mlp", "pass": "forward", "shape": "a=1",
                "measured_at": "then" },
              { "id": 7, "state": "suspect", "kernel": "mlp", "pass": "forward", "shape": "a=2",
                "measured_at": "then" } ],
    "layers": [
      { "name": "mlp", "numbers": { "hidden": 8 }, "sequence": 16,
        "points": [ { "examples": 1, "forward_us": 2, "rows": [3] } ] },
      { "name": "mlp", "numbers": { "hidden": 8 }, "counts": "tokens",
        "points": [ { "examples": 1, "forward_us": 2, "rows": [7] } ] } ] } })";
  const Profile profile = parse_model_file(text).profile;
  REQUIRE(profile.rows.size() == 2);
  CHECK(profile.rows[1].id == 7);
  CHECK(profile.rows[1].suspect);
  REQUIRE(profile.entries.size() == 2);
  CHECK(profile.entries[0].sequence == 16.0);
  CHECK(profile.entries[0].numbers.at("hidden") == 8);
  CHECK(profile.entries[1].counts_tokens);
  CHECK(profile.entries[1].points[0].rows == std::vector<std::int64_t>{7});
  const auto refused = [&](const std::string& what, const std::string& by) {
    return refusal_of_model(replaced(text, what, by));
  };
  CHECK(refused("\"counts\": \"tokens\"", "\"sequence\": 16") ==
        "/profile/layers/1/name: layer 0 has this name already; each layer has its own");
  CHECK(refused("\"rows\": [7]", "\"rows\": [8]") ==
        "/profile/layers/1/points/0/rows/0: there is no row 8 in /profile/rows");
  CHECK(refused("\"id\": 7", "\"id\": 3") ==
        "/profile/rows/1/id: rows stand in ascending order, each once");
  CHECK(refused("\"numbers\": { \"hidden\": 8 }, \"counts\"", "\"counts\"") ==
        "/profile/layers/1/name: \"sequence\" and \"counts\" go with \"numbers\" of a kind");
  CHECK(refused("\"state\": \"valid\"", "\"state\": \"retired\"")
            .starts_with("/profile/rows/0/state"));
}

}  // namespace penstock::testing
