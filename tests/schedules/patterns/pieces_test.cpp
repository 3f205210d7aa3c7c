#include "schedules/patterns/pieces.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "experiments/input/formats/torch_csv.hpp"
#include "sim/order/order_fault.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/random_system.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

std::string cut(const char* csv, const Placement& placement,
                const std::vector<std::uint32_t>& pieces) {
  return write_torch_csv(cut_order({placement, order_of(csv)}, pieces).schedule).text;
}

}  // namespace

TEST_CASE("pieces: each action becomes one of each piece, backwards from the last") {
  CHECK(cut("0F0,0I0,0W0\n1F0,1B0\n", Placement::loop(2, 1), {3, 1}) ==
        "0F0,1F0,2F0,2I0,1I0,0I0,2W0,1W0,0W0\n3F0,3B0\n");
}

TEST_CASE("pieces: those of an overlap cell take turns") {
  CHECK(cut("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n", Placement::loop(1, 1), {2}) ==
        "0F0,1F0,0F1,1B0,1F1,0B0,1B1,0B1\n");
}

TEST_CASE("pieces: stages keep their ranks and chains, replicas too") {
  const Placement whole = Placement::given(3, {{Rank{0}}, {Rank{1}, Rank{2}}, {Rank{2}}, {Rank{0}}},
                                           {{Stage{0}, Stage{1}}, {Stage{2}, Stage{3}}});
  const Placement placed = cut_order({whole, Schedule(3)}, {2, 1}).placement;
  CHECK(placed == Placement::given(
                      3,
                      {{Rank{0}}, {Rank{0}}, {Rank{1}, Rank{2}}, {Rank{2}}, {Rank{2}}, {Rank{0}}},
                      {{Stage{0}, Stage{1}, Stage{2}}, {Stage{3}, Stage{4}, Stage{5}}}));
}

TEST_CASE("pieces: random orders stay sound, and joining their pieces gives them back") {
  CHECK(rc::check([] {
    const System system = random_system();
    std::vector<std::uint32_t> pieces;
    for (std::size_t s = 0; s < system.stages.size(); ++s) pieces.push_back(from_to(1, 3));
    const PlacedOrder cut = cut_order({system.placement, system.schedule}, pieces);
    RC_ASSERT(!find_order_fault(cut.schedule, cut.placement));
    Schedule whole = system.schedule;
    for (const Rank rank : Numbers<Rank>(whole.ranks())) {
      for (Action& action : whole.on(rank)) action.with_next = false;
    }
    const PlacedOrder joined = joined_order(cut_order({system.placement, whole}, pieces), pieces);
    RC_ASSERT(joined.placement == system.placement);
    RC_ASSERT(joined.schedule == whole);
  }));
}

}  // namespace penstock::testing
