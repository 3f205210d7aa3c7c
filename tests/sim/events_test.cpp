#include "sim/events.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include "sim/idle.hpp"
#include "sim/relax.hpp"
#include "tests/support/random_system.hpp"

namespace penstock::testing {
namespace {

/// Conditions that change nothing but make every start and end an event.
Conditions without_effect() {
  Conditions conditions;
  conditions.in_flight = UINT32_MAX;
  return conditions;
}

Timeline timeline_of(const Plan& plan, const Costs& costs, const Conditions& conditions) {
  Timeline timeline;
  const auto halt = run_events(plan, costs, conditions, timeline);
  if (halt) throw std::logic_error(text(plan, *halt));
  return timeline;
}

/// Four ranks of which 0 sends to 1 and 2 to 3, over one link that both pairs share. F takes
/// `forward_us`; `first` and `second` are the bytes that stages 0 and 2 put out.
struct TwoPairs {
  System system;
  Plan plan;
  Costs costs;
  Conditions conditions;

  TwoPairs(std::string_view order, double forward_us, double first, double second,
           Sharing sharing = Sharing::fair)
      : system{Placement::given(4, {{Rank{0}}, {Rank{1}}, {Rank{2}}, {Rank{3}}},
                                {{Stage{0}, Stage{1}}, {Stage{2}, Stage{3}}}),
               order_of(order),
               {stage_of(forward_us, 0), stage_of(forward_us, 0)},
               link(0, 1e9)} {
    plan = lowered(system);
    costs = priced(system, plan);
    // The two chains hand over tensors of different sizes: 1 byte takes 1 ns alone.
    for (std::size_t c = 0; c < plan.classes.size(); ++c) {
      if (!is_transfer(plan.classes[c].pass)) continue;
      const double bytes = plan.classes[c].stage == Stage{0} ? first : second;
      costs.duration[c] = from_us(bytes * 1e-3);
    }
    conditions.network = {.links = {{"spine", 1e9, 0}}, .routes = {}, .sharing = sharing};
    for (std::size_t l = 0; l < plan.links.size(); ++l) conditions.network.routes.push_back({0});
  }

  std::string span(const Timeline& timeline, std::string_view task) const {
    return span_text({plan, costs, timeline, {}}, task);
  }
};

}  // namespace

TEST_CASE("without contention, the event engine runs any order to the byte as relax does") {
  CHECK(rc::check([] {
    const System system = random_system();
    const Plan plan = lowered(system);
    const Costs costs = priced(system, plan);
    Timeline relaxed;
    relax(plan, costs, relaxed);
    for (const Conditions& conditions : {Conditions{}, without_effect()}) {
      const Timeline timeline = timeline_of(plan, costs, conditions);
      RC_ASSERT(timeline.begin == relaxed.begin);
      RC_ASSERT(timeline.end == relaxed.end);
      RC_ASSERT(timeline.last_input == relaxed.last_input);
    }
  }));
}

TEST_CASE("two transfers over one link each get half of it") {
  // F takes 1 us; 4,000 bytes take 4 us alone. Both leave at 1 and share the link: 8 us each.
  const TwoPairs pairs("0F0\n1F0\n2F1\n3F1", 1, 4000, 4000);
  const Timeline timeline = timeline_of(pairs.plan, pairs.costs, pairs.conditions);
  CHECK(pairs.span(timeline, "0SEND_F0") == "0SEND_F0 1-9");
  CHECK(pairs.span(timeline, "2SEND_F1") == "2SEND_F1 1-9");
  CHECK(to_us(timeline.slowed[task_of(pairs.plan, "0SEND_F0")]) == 4);
  CHECK(to_us(makespan(pairs.plan, timeline)) == 10);
}

TEST_CASE("when a transfer ends, what is left of the other has the link to itself") {
  // 2,000 and 6,000 bytes from 1 us on: half the link each until the first has left at 5, when
  // 4,000 are left of the second, which take 4 us more.
  const TwoPairs pairs("0F0\n1F0\n2F1\n3F1", 1, 2000, 6000);
  const Timeline timeline = timeline_of(pairs.plan, pairs.costs, pairs.conditions);
  CHECK(pairs.span(timeline, "0SEND_F0") == "0SEND_F0 1-5");
  CHECK(pairs.span(timeline, "2SEND_F1") == "2SEND_F1 1-9");
}

TEST_CASE("transfers of one pair go one after the other, and share with another pair's") {
  // Two of 2,000 bytes from 0 to 1, ready at 1 and 2; one of 4,000 from 2 to 3, ready at 1. Half
  // the link each: the first leaves at 5, the second goes 5-9, as does the third 1-9.
  const TwoPairs pairs("0F0,0F2\n1F0,1F2\n2F1\n3F1", 1, 2000, 4000);
  const Timeline timeline = timeline_of(pairs.plan, pairs.costs, pairs.conditions);
  CHECK(pairs.span(timeline, "0SEND_F0") == "0SEND_F0 1-5");
  CHECK(pairs.span(timeline, "0SEND_F2") == "0SEND_F2 5-9");
  CHECK(pairs.span(timeline, "2SEND_F1") == "2SEND_F1 1-9");
}

TEST_CASE("a shared link in fifo order serves one transfer at a time, the lower stage first") {
  const TwoPairs pairs("0F0\n1F0\n2F1\n3F1", 1, 4000, 4000, Sharing::fifo);
  const Timeline timeline = timeline_of(pairs.plan, pairs.costs, pairs.conditions);
  CHECK(pairs.span(timeline, "0SEND_F0") == "0SEND_F0 1-5");
  CHECK(pairs.span(timeline, "2SEND_F1") == "2SEND_F1 5-9");
}

}  // namespace penstock::testing
