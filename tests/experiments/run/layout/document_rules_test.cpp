#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {

TEST_CASE("documents: the busiest expert gets no token twice") {
  static const Scratch scratch;
  const auto refusal = [](const nlohmann::json& router, double imbalance) {
    const nlohmann::json attention{{"kind", "attention"}, {"hidden", 512}, {"heads", 8}};
    const nlohmann::json moe{{"kind", "moe"},
                             {"hidden", 512},
                             {"experts", 4},
                             {"chosen", 2},
                             {"expert_intermediate", 512},
                             {"imbalance", imbalance}};
    nlohmann::json document{
        {"model", {{"sequence", 1024}, {"layers", {{{"parts", {attention, moe}}}}}}},
        {"hardware", {{"name", "dgx-h100"}}},
        {"parallel", {{"pipeline", 1}, {"data", 4}, {"expert", 4}}},
        {"schedule", {{"name", "1f1b"}, {"microbatches", 2}}},
        {"batch", {{"lengths", {{"histogram", {{{"tokens", 512}}}}}}}}};
    document["batch"]["router"] = router;
    return refused_at([&] { settle(parse_scenario(document.dump(), "s.json")); });
  };
  CHECK(refusal({{"skew", 2}}, 1) == "accepted");  // 4 / 2
  CHECK(says(refusal({{"skew", 2.5}}, 1), "/batch/router/skew: the busiest expert has 2.5 times"));
  CHECK(says(refusal({{"skew", 1.5}}, 2), "(chosen x imbalance), 1:"));
  const std::string most = scratch.file("most.txt", "5\n1\n4\n0\n");  // 5 * 4 / 10
  const std::string more = scratch.file("more.txt", "5\n1\n1\n1\n");  // 5 * 4 / 8
  CHECK(refusal({{"file", most}}, 1) == "accepted");
  CHECK(says(refusal({{"file", more}}, 1), "/batch/router/file: the busiest expert has 2.5 times"));
}

}  // namespace penstock::testing
