#include "experiments/plan/order_search/order_hunt.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "tests/support/says.hpp"

namespace penstock::testing {

// Memory that no order found so far stays within: receive buffers, which the search does not see.
TEST_CASE("search: a stop ends a hunt that has found nothing that fits") {
  const Scenario scenario = parse_scenario(
      R"({"model": {"stages": [
        {"forward_us": 7, "backward_input_us": 5, "backward_weight_us": 6, "activation_bytes": 1000, "stash_bytes": 1000},
        {"forward_us": 9, "backward_input_us": 8, "backward_weight_us": 9, "activation_bytes": 1000, "stash_bytes": 1000},
        {"forward_us": 3, "backward_input_us": 9, "backward_weight_us": 8, "activation_bytes": 1000, "stash_bytes": 1000},
        {"forward_us": 9, "backward_input_us": 4, "backward_weight_us": 1, "activation_bytes": 1000, "stash_bytes": 1000},
        {"forward_us": 4, "backward_input_us": 3, "backward_weight_us": 6, "activation_bytes": 1000, "stash_bytes": 1000},
        {"forward_us": 6, "backward_input_us": 9, "backward_weight_us": 4, "activation_bytes": 1000, "stash_bytes": 1000}]},
      "hardware": {"name": "ideal", "transfer_us": 2}, "schedule": {"name": "1f1b", "microbatches": 20},
      "memory": {"capacity_bytes": 9000}})",
      "tight.json");
  for (const double share : {0.05, 0.2}) {
    CAPTURE(share);
    constexpr int many = 100'000;
    bool stop = false;
    int asked_again = 0;
    HuntOptions options{.budget_s = 6};
    options.on_progress = [&](const HuntState& state) { stop = stop || state.share > share; };
    options.asked_to_stop = [&] {
      if (stop && ++asked_again > many) throw std::runtime_error("it goes on after a stop");
      return stop;
    };
    CHECK(hunt_order(scenario, options).interrupted);
  }
}

// With F0 F1 I1 I0 on rank 1, whose last microbatch is not recomputed, a step takes 25 us.
TEST_CASE("search: the report says where microbatches differ and keep their order") {
  const auto hunt_with = [](const std::string& mode) {
    const std::string text = R"({"model": {"stages": [
        {"forward_us": 1, "backward_input_us": 4, "backward_weight_us": 4, "stash_bytes": 10},
        {"forward_us": 1, "backward_input_us": 4, "backward_weight_us": 5, "stash_bytes": 10,
         "recompute_us": 2}]},
      "hardware": {"name": "ideal", "transfer_us": 1}, "parallel": {"pipeline": 2},
      "schedule": {"name": "1f1b", "microbatches": 2}, "recompute": {"mode": ")" +
                             mode + R"("}})";
    return hunt_order(parse_scenario(text, "s.json"), {.evaluations = 1000});
  };
  const std::string note = "microbatches differ, and keep their order";
  const HuntResult kept = hunt_with("except_last"), alike = hunt_with("full");
  CHECK(says(hunt_text(kept), note));
  CHECK(hunt_json(kept)["keeps_microbatch_order"] == true);
  CHECK_FALSE(says(hunt_text(alike), note));
  CHECK(hunt_json(alike)["keeps_microbatch_order"] == false);
}

}  // namespace penstock::testing
