#include <doctest/doctest.h>

#include "experiments/input/formats/torch_csv.hpp"
#include "tests/support/ruled_system.hpp"

namespace penstock::testing {
namespace {

std::string order(const char* name, const Placement& placement, std::uint32_t microbatches,
                  const CatalogueSettings& settings = {}) {
  return write_torch_csv(make_schedule(rule(name), placement, {microbatches, settings})).text;
}

std::string order(const char* name, std::uint32_t ranks, std::uint32_t chunks,
                  std::uint32_t microbatches, const CatalogueSettings& settings = {}) {
  return order(name, rule(name).place(ranks, chunks), microbatches, settings);
}

/// Two ranks; the second stage has a replica on each.
Placement replicated() {
  return Placement::given(3, {{Rank{0}}, {Rank{1}, Rank{2}}}, {{Stage{0}, Stage{1}}});
}

}  // namespace

TEST_CASE("naive takes one microbatch up and down at a time") {
  CHECK(order("naive", 2, 1, 2) == "0F0,0B0,0F1,0B1\n1F0,1B0,1F1,1B1\n");
}

TEST_CASE("forward-only has no backwards") {
  CHECK(order("forward-only", 2, 1, 3) == "0F0,0F1,0F2\n1F0,1F1,1F2\n");
}

TEST_CASE("gpipe goes back ascending as PyTorch does, or descending as torchgpipe does") {
  CHECK(order("gpipe", 2, 1, 2) == "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n");
  CHECK(order("gpipe", 2, 1, 2, {{"backward_order", "descending"}}) ==
        "0F0,0F1,0B1,0B0\n1F0,1F1,1B1,1B0\n");
}

TEST_CASE("gpipe and forward-only deal microbatches out to replicas in turn") {
  CHECK(order("gpipe", replicated(), 3) == "0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1F2,1B0,1B2\n1F1,1B1\n");
  CHECK(order("forward-only", replicated(), 3) == "0F0,0F1,0F2\n1F0,1F2\n1F1\n");
}

TEST_CASE("1f1b warms up with as many forwards as there are stages behind") {
  CHECK(order("1f1b", 3, 1, 4) ==
        "0F0,0F1,0F2,0B0,0F3,0B1,0B2,0B3\n"
        "1F0,1F1,1B0,1F2,1B1,1F3,1B2,1B3\n"
        "2F0,2B0,2F1,2B1,2F2,2B2,2F3,2B3\n");
  CHECK(order("1f1b", 3, 1, 1) == "0F0,0B0\n1F0,1B0\n2F0,2B0\n");
}

TEST_CASE("1f1b counts stages behind along the chain, wherever its ranks are") {
  const Placement reversed = Placement::given(2, {{Rank{1}}, {Rank{0}}}, {{Stage{0}, Stage{1}}});
  CHECK(order("1f1b", reversed, 2) == "1F0,1B0,1F1,1B1\n0F0,0F1,0B0,0B1\n");
}

TEST_CASE("interleaved-1f1b runs a group through each chunk in turn") {
  // p = 2, v = 2, m = 2: rank 0 warms up with 2(2-1-0) + (2-1)2 = 4 turns, rank 1 with 2.
  CHECK(order("interleaved-1f1b", 2, 2, 2) ==
        "0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1\n"
        "1F0,1F1,3F0,3B0,3F1,3B1,1B0,1B1\n");
  CHECK(order("interleaved-1f1b", 2, 1, 3, {{"group", "3"}}) == order("1f1b", 2, 1, 3));
}

}  // namespace penstock::testing
