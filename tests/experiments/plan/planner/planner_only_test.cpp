#include <doctest/doctest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/plan/planner/space/layout_space.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

/// What the scenario of a layout states at a pointer. It leaves out codecs and overlap that it does
/// not have.
std::string stated(const TrainingTask& task, const LayoutChoice& choice,
                   const std::string& pointer) {
  const auto document = nlohmann::json::parse(layout_document(task, choice));
  const nlohmann::json::json_pointer place(pointer);
  if (!document.contains(place)) return pointer == "/schedule/overlap" ? "serial" : "none";
  const nlohmann::json& value = document.at(place);
  if (value.is_object()) return value.at("name").get<std::string>();
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Two layouts: tensor 4 by data 2, with 8 microbatches, and tensor 4 by pipeline 2, with 16; and
/// how many there are with another restriction.
std::uint64_t legal_with(std::vector<std::string> only) {
  only.insert(only.end(), {"/parallel/tensor=4", "/parallel/context=1", "/schedule/name=1f1b",
                           "/parallel/pipeline=1,2", "/recompute/mode=none", "/memory/zero=0",
                           "/parallel/sequence=true", "/partition/name=even"});
  return space_of(llama_task({.devices = 8, .microbatch = 1, .global_batch = 16}),
                  {.only = Restrictions(only)})
      .legal;
}

TEST_CASE("planner: whatever is asked for with --only, every layout has it") {
  const Scratch scratch;
  const TrainingTask task = read_task({.model = experts_command(scratch),
                                       .hardware = "dgx-h100",
                                       .devices = 8,
                                       .global_batch = 16});
  const Restrictions few({"/parallel/context=1", "/memory/zero=1", "/parallel/chunks=1,2",
                          "/parallel/tensor=1,2", "/recompute/mode=none,full",
                          "/schedule/name=1f1b,interleaved-1f1b,dualpipev",
                          "/partition/name=even"});
  for (const char* asked : {"/parallel/pipeline=2",
                            "/parallel/tensor=2",
                            "/parallel/data=2",
                            "/parallel/context=2",
                            "/parallel/expert=4",
                            "/parallel/expert_tensor=1",
                            "/parallel/chunks=2",
                            "/parallel/sequence=true",
                            "/parallel/sequence=false",
                            "/parallel/overlap_experts=true",
                            "/parallel/overlap_experts=false",
                            "/model/microbatch=1",
                            "/schedule/name=dualpipev",
                            "/schedule/microbatches=8",
                            "/schedule/overlap=fused",
                            "/schedule/overlap=serial",
                            "/memory/zero=3",
                            "/recompute/mode=full",
                            "/recompute/mode=selective",
                            "/recompute/layers=2",
                            "/codec/stash=bfp",
                            "/codec/stash=none",
                            "/codec/link=bfp",
                            "/codec/link=none",
                            "/offload/keep=2",
                            "/offload/layers=2",
                            "/partition/name=balanced"}) {
    CAPTURE(std::string(asked));
    const Restrictions one({asked});
    const std::string pointer = one.pointers().front();
    const LayoutPlan plan =
        planned(task, {.space = {.only = few.with(one)}, .best = 1, .front = false});
    CHECK_FALSE(plan.fitting.empty());
    for (const auto* rows : {&plan.fitting, &plan.tight}) {
      for (const JudgedLayout& row : *rows) {
        CAPTURE(text_of(row.choice));
        CHECK(one.allow(pointer, stated(task, row.choice, pointer)));
      }
    }
  }
}

TEST_CASE("planner: codecs and offloading that are asked for are found as if all were simulated") {
  const TrainingTask task = llama_task({.devices = 8, .microbatch = 1, .global_batch = 16});
  const Restrictions few({"/parallel/context=1", "/parallel/tensor=1,2,4", "/memory/zero=1",
                          "/schedule/name=1f1b,zb-v", "/recompute/mode=none,full",
                          "/partition/name=even"});
  for (const std::vector<std::string>& asked : {std::vector<std::string>{"/codec/stash=bfp"},
                                                {"/offload/keep=2,3"},
                                                {"/codec/stash=bfp", "/offload/keep=2"}}) {
    const Restrictions both(asked);
    CAPTURE(both.text());
    const auto [plan, all] = planned_twice(task, {.space = {.only = few.with(both)}});
    CHECK_FALSE(plan.fitting.empty());
    check_plan(plan, all);
  }
}

TEST_CASE("planner: codecs and offloading that are asked for are counted as layouts") {
  CHECK(legal_with({}) == 2);
  CHECK(legal_with({"/codec/stash=bfp"}) == 2);
  CHECK(legal_with({"/codec/stash=none,bfp"}) == 2);  // bfp gives way, until memory is short
  CHECK(legal_with({"/codec/link=none,bfp"}) == 3);   // one rank sends nothing
  CHECK(legal_with({"/codec/link=bfp"}) == 1);
  CHECK(legal_with({"/offload/keep=4"}) == 2);
  CHECK(legal_with({"/offload/keep=8"}) == 1);  // of 8 microbatches none is offloaded
  CHECK(legal_with({"/offload/keep=4,8", "/codec/stash=bfp"}) == 3);
}

TEST_CASE("planner: without a tensor group a layout has no sequence parallelism") {
  const TrainingTask task = llama_task({.devices = 2, .microbatch = 1, .global_batch = 4});
  const auto legal = [&](const char* only) {
    return space_of(task, {.only = Restrictions({"/parallel/tensor=1", only})}).legal;
  };
  CHECK(legal("/parallel/sequence=true") == 0);
  CHECK(legal("/parallel/sequence=false") > 0);
  CHECK(legal("/parallel/sequence=true,false") == legal("/parallel/sequence=false"));
}

}  // namespace
}  // namespace penstock::testing
