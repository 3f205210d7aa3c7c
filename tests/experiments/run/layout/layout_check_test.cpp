#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/run/chain.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/numbers.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

Layout settled(const std::string& name) { return settle(read_scenario(PENSTOCK_ROOT "/" + name)); }

/// Why a layout is refused after a change, without the name of its file: by `run` and by a chain.
std::string refused_after(const Layout& layout, const std::function<void(Layout&)>& change) {
  Layout changed = layout;
  change(changed);
  const std::string said = refused_file(layout.source, [&] { run(changed); });
  CHECK(said == refused_file(layout.source, [&] { (void)Chain().simulate(changed); }));
  return said;
}

}  // namespace

TEST_CASE("a layout whose order has a fault is refused with the place of the fault") {
  const Layout layout = settled("experiments/scenarios/first_run.json");
  const auto refused = [&](const auto& change) {
    return refused_after(layout, [&](Layout& changed) { change(changed.schedule); });
  };
  CHECK(refused([](const Schedule&) {}) == "accepted");
  CHECK(refused([](Schedule& order) { std::swap(order.on(Rank{3})[0], order.on(Rank{3})[1]); }) ==
        "/schedule: rank 3, action 0: 3B0 has no 3F0 before it");
  CHECK(refused([](Schedule& order) { order.on(Rank{1}).push_back(order.on(Rank{1})[0]); }) ==
        "/schedule: rank 1, action 16: 1F0 occurs twice");
  CHECK(refused([](Schedule& order) { order.on(Rank{1}).pop_back(); }) ==
        "/schedule: rank 1, action 15: 1B7 is missing");
  CHECK(refused([](Schedule& order) { std::swap(order.on(Rank{2})[0], order.on(Rank{3})[0]); }) ==
        "/schedule: rank 2, action 0: 3F0 is on rank 2, but stage 3 is on rank 3");
  CHECK(refused([](Schedule& order) { order = Schedule(4); }) ==
        "/schedule: rank 0, action 0: the order has no actions");
  CHECK(refused([](Schedule& order) { order = Schedule(2); }) ==
        "/schedule: rank 0, action 0: ranks of the order: 2, of its stages: 4");
}

TEST_CASE("a layout is refused whose stages are not the model, or not those of its order") {
  const Layout layout = settled("experiments/scenarios/llama_8b_on_a_dgx_h100.json");
  const auto refused = [&](const auto& change) {
    return refused_after(layout, [&](Layout& changed) { change(changed.partition.stages); });
  };
  using Stages = std::vector<std::vector<LayerIndex>>;
  CHECK(refused([](Stages& stages) { stages[1].clear(); }) ==
        "/partition/stages/1: the stage is empty; each stage needs at least one layer");
  CHECK(refused([](Stages& stages) { stages[0].push_back(LayerIndex{9999}); }) ==
        "/partition/stages/0: unknown layer 9999; layers are 0 to 33");
  CHECK(says(refused([](Stages& stages) { stages[0].pop_back(); }), "is in no stage"));
  CHECK(refused([](Stages& stages) {
          stages[2].insert(stages[2].end(), stages[3].begin(), stages[3].end());
          stages.pop_back();
        }) == "/partition/stages: the model is cut into 3 stages, and the order runs 4");
  CHECK(refused_after(layout, [](Layout& changed) {
          changed.placement = Placement::given(4, {{Rank{3}}, {Rank{2}}, {Rank{1}}, {Rank{0}}},
                                               {{Stage{0}, Stage{1}, Stage{2}, Stage{3}}});
        }) == "/schedule: rank 0, action 0: 0F0 is on rank 0, but stage 0 is on rank 3");
  CHECK(refused_after(layout, [](Layout& changed) { changed.microbatches = 7; }) ==
        "/schedule/microbatches: 7 microbatches are stated, and the order has 16");
}

TEST_CASE("a layout that is settled has no fault, though a frozen encoder has no backward") {
  const Layout layout =
      settled("tests/scenarios/a_frozen_encoder_only_delays_the_first_forward.json");
  CHECK(refused_after(layout, [](Layout&) {}) == "accepted");
  CHECK(says(refused_after(layout, [](Layout& changed) { changed.module->frozen = false; }),
             "0B0 is missing"));
}

}  // namespace penstock::testing
