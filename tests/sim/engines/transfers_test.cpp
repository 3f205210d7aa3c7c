#include "sim/engines/transfers.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "sim/engines/events.hpp"
#include "sim/engines/stepwise.hpp"
#include "tests/support/flows.hpp"
#include "tests/support/random_system.hpp"

namespace penstock::testing {
namespace {

constexpr double gb_per_s = 1e9;  // 1,000 bytes take 1 us

std::uint32_t transfers_below(std::uint32_t end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, end));
}

/// "1-5, 5-9": from when to when the flows were on their way, in microseconds.
std::string spans(const FlowSet& set, Sharing sharing) {
  const FlowPlan flows(set, sharing);
  const Timeline timeline = flows.run();
  std::string text;
  for (std::uint32_t flow = 0; flow < set.flows.size(); ++flow) {
    const TaskId transfer = flows.transfer(flow);
    text += (text.empty() ? "" : ", ") + text_us(timeline.begin[transfer]) + "-" +
            text_us(timeline.end[transfer]);
  }
  return text;
}

Time end_of(const FlowPlan& flows, const Timeline& timeline, std::uint32_t flow) {
  return timeline.end[flows.transfer(flow)];
}

double picoseconds(Time time) { return static_cast<double>(time.picoseconds); }

/// When the flows begin if each waits, at every link of its route, for those that were ready
/// before it; of those ready at one moment the lower number goes first.
std::vector<Time> begins_in_line(const FlowSet& set, const FlowPlan& flows) {
  std::vector<std::uint32_t> order(set.flows.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t f) { return set.flows[f].start_us; });
  std::vector<Time> begin(set.flows.size()), free(set.links.size());
  for (const std::uint32_t flow : order) {
    const auto& route = set.flows[flow].route;
    begin[flow] = from_us(set.flows[flow].start_us);
    for (const std::uint32_t link : route) begin[flow] = std::max(begin[flow], free[link]);
    const Time left = begin[flow] + flows.costs.duration_of(flows.plan, flows.transfer(flow));
    for (const std::uint32_t link : route) free[link] = left;
  }
  return begin;
}

/// Routes over up to three of four links for whatever a plan sends.
Network random_network(const Plan& plan) {
  Network network{.sharing = transfers_below(2) == 0 ? Sharing::fair : Sharing::fifo};
  for (int link = 0; link < 4; ++link) {
    network.links.push_back({"", 1e8 * (1 + transfers_below(3)), 0});
  }
  for (std::size_t link = 0; link < plan.links.size(); ++link) {
    network.routes.emplace_back();
    for (std::uint32_t length = 1 + transfers_below(3); length > 0; --length) {
      network.routes.back().push_back(transfers_below(4));
    }
  }
  return network;
}

}  // namespace

TEST_CASE("in fifo order over routes of several links nothing overtakes and everything arrives") {
  CHECK(rc::check([] {
    const FlowSet set = random_flows(transfers_below);
    const FlowPlan flows(set, Sharing::fifo);
    const Timeline timeline = flows.run();
    const std::vector<Time> expected = begins_in_line(set, flows);
    for (std::uint32_t flow = 0; flow < set.flows.size(); ++flow) {
      RC_ASSERT(timeline.begin[flows.transfer(flow)] == expected[flow]);
    }
  }));
}

TEST_CASE("in fifo order a transfer holds its place at a free link while it waits for another") {
  // 4,000 bytes each. The first holds link 0 from 1 to 5; the second needs both and waits for it,
  // and the third, ready at 3, stands behind the second though its own link 1 is free.
  const FlowSet set{{{"", gb_per_s, 0}, {"", gb_per_s, 0}},
                    {{1, 4000, {0}}, {2, 4000, {0, 1}}, {3, 4000, {1}}}};
  CHECK(spans(set, Sharing::fifo) == "1-5, 5-9, 9-13");
}

TEST_CASE("ranks that run ahead and ranks that go event by event share links to the same byte") {
  CHECK(rc::check([] {
    // Where actions take no time, more than one thing can happen to a rank at a moment, and either
    // way to run has an order of its own for it.
    PricedPlan all = priced(random_system({.zero_times = false}));
    all.conditions.network = random_network(all.plan);
    const Timeline ahead = timeline_of(run_events(all));
    all.conditions.sends_in_flight = UINT32_MAX;
    const Timeline stepwise = timeline_of(run_events(all));
    RC_ASSERT(ahead.begin == stepwise.begin);
    RC_ASSERT(ahead.end == stepwise.end);
  }));
}

TEST_CASE("a transfer whose end is certain when it starts goes as one whose leave is waited for") {
  CHECK(rc::check([] {
    PricedPlan all = priced(random_system());
    const Plan& plan = all.plan;
    // Few different times, none among them, so that much happens at one moment.
    for (std::size_t c = 0; c < plan.classes.size(); ++c) {
      if (is_transfer(plan.classes[c].pass)) all.costs.duration[c] = from_us(transfers_below(4));
    }
    Conditions& conditions = all.conditions;
    conditions.sends_in_flight = transfers_below(3);
    conditions.receives_in_flight = transfers_below(3);
    conditions.rendezvous = transfers_below(2) == 0;
    conditions.compute_slowdown = 1 + 0.5 * transfers_below(3);
    if (transfers_below(2) == 0) conditions.stall_above_bytes = 20 * transfers_below(1000);
    const RunOutcome certain = run_stepwise(all);
    // Over a physical link that nobody shares, rates are solved for, and every leave is an event.
    conditions.network.sharing = transfers_below(2) == 0 ? Sharing::fair : Sharing::fifo;
    for (std::uint32_t link = 0; link < plan.links.size(); ++link) {
      conditions.network.links.push_back({"", 1e9, 0});
      conditions.network.routes.push_back({link});
    }
    const RunOutcome waited_for = run_stepwise(all);
    RC_ASSERT(certain.index() == waited_for.index());
    if (const auto* halt = std::get_if<Standstill>(&certain)) {
      RC_ASSERT(halt->text == std::get<Standstill>(waited_for).text);
    } else {
      RC_ASSERT(std::get<Timeline>(certain) == std::get<Timeline>(waited_for));
    }
  }));
}

TEST_CASE("nothing is faster over shared links than alone, and in the end all has arrived") {
  CHECK(rc::check([] {
    PricedPlan all = priced(random_system());
    const Plan& plan = all.plan;
    all.conditions = {.network = random_network(plan),
                      .transfer_slowdown = 1 + 0.5 * transfers_below(3)};
    const Timeline timeline = timeline_of(run_events(all));
    for (TaskId task = 0; task < plan.tasks(); ++task) {
      const Time alone = all.costs.duration_of(plan, task) + all.costs.latency[plan.work[task]];
      RC_ASSERT(timeline.end[task] - timeline.begin[task] >= alone);
    }
  }));
}

TEST_CASE("shared links bring no deadlock where links of one's own bring none") {
  CHECK(rc::check([] {
    PricedPlan all = priced(random_system());
    all.conditions.rendezvous = transfers_below(2) == 0;
    all.conditions.blocking_sends = transfers_below(2) == 0;
    all.conditions.sends_in_flight = transfers_below(3);
    all.conditions.receives_in_flight = transfers_below(3);
    const auto ends = [&] { return std::holds_alternative<Timeline>(run_events(all)); };
    const bool alone = ends();
    all.conditions.network = random_network(all.plan);
    RC_ASSERT(ends() == alone);
  }));
}

TEST_CASE("a fifo link is not held by a transfer whose reader is not ready for it") {
  // F takes 1, 1, 2 us on ranks 0 to 2, a transfer 4 us, and all go over one link. Rank 1 first
  // reads from rank 2, so what rank 0 has ready at 1 gives way to 2SEND_F1 2-6; 3F1 runs 6-7, and
  // then 0SEND_F0 travels 7-11.
  PricedPlan all =
      over_one_link(priced(in_pairs({0, 1, 2, 1}, "0F0\n3F1,1F0\n2F1")), Sharing::fifo);
  all.costs.duration[all.plan.work[task_of(all.plan, "2F1")]] = from_us(2);
  all.conditions.rendezvous = true;
  const Outcome outcome = by_events(all);
  check_spans(outcome, {"2SEND_F1 2-6", "0SEND_F0 7-11"});
}

TEST_CASE("with one transfer in flight at a time, first come is first served") {
  // Rank 0 makes outputs for ranks 1, 2 and 3 at 1, 2 and 3 us, in the order of stages 4, 2, 0; a
  // transfer takes 4 us.
  PricedPlan all = priced(in_pairs({0, 1, 0, 2, 0, 3}, "4F2,2F1,0F0\n1F0\n3F1\n5F2"));
  all.conditions.sends_in_flight = all.conditions.receives_in_flight = 1;
  const Outcome outcome = by_events(all);
  check_spans(outcome, {"4SEND_F2 1-5", "2SEND_F1 5-9", "0SEND_F0 9-13"});
}

TEST_CASE("a link of the plan that two ranks feed is no private one") {
  // F takes 3 us on rank 0 and 1 us on rank 2, a transfer 4 us. Both go over the link from 0 to 1,
  // in whose order rank 0's comes first; but it is rank 2's that is ready first.
  PricedPlan all = priced(in_pairs({0, 1, 2, 1}, "0F0\n1F0,3F1\n2F1", 3));
  Plan& plan = all.plan;
  all.costs.duration[plan.work[task_of(plan, "2F1")]] = from_us(1);
  CHECK(private_links(plan, {}) == std::vector<bool>{true, true});
  const std::uint32_t link = plan.class_of(task_of(plan, "0SEND_F0")).resource;
  plan.classes[plan.work[task_of(plan, "2SEND_F1")]].resource = link;
  plan.in_one_order = links_in_one_order(plan);
  CHECK(!private_links(plan, {})[link - plan.ranks]);
  const Outcome outcome = by_events(all);
  check_spans(outcome, {"2SEND_F1 1-5", "0SEND_F0 5-9"});
}

TEST_CASE("what a rank makes in no time travels in its order, also over a shared link") {
  // Both F of rank 0 take no time. Stage 2's is the first, though the other is of a lower stage.
  PricedPlan all = over_one_link(
      priced(in_pairs({0, 1, 0, 1, 2, 1}, "2F1,0F0\n3F1,1F0,5F2\n4F2", 0)), Sharing::fifo);
  for (const std::uint32_t in_flight : {0U, UINT32_MAX}) {
    all.conditions.sends_in_flight = in_flight;
    const Outcome outcome = by_events(all);
    check_spans(outcome, {"2SEND_F1 0-4", "4SEND_F2 4-8", "0SEND_F0 8-12"});
  }
}

TEST_CASE("nothing to send takes no time on a busy link, but a turn in fifo order") {
  const FlowSet set{{{"", gb_per_s, 2}}, {{1, 4000, {0}}, {3, 0, {0}}, {1, 0, {0}}}};
  CHECK(spans(set, Sharing::fair) == "1-7, 3-5, 1-3");
  CHECK(spans(set, Sharing::fifo) == "1-7, 5-7, 5-7");
}

TEST_CASE("a link that a route names twice is gone over once") {
  const FlowSet once{{{"", gb_per_s, 0}}, {{1, 4000, {0}}, {1, 4000, {0}}}};
  FlowSet twice = once;
  twice.flows[1].route = {0, 0};
  for (const Sharing sharing : {Sharing::fair, Sharing::fifo}) {
    CHECK(spans(twice, sharing) == spans(once, sharing));
  }
}

TEST_CASE("a slowed transfer leaves the rest of a shared link to the other") {
  // Factor 4. Rank 0 goes on computing, so what it sends has a quarter of the link and the other
  // three: 3,000 bytes take 1-5. By then 1,000 of the 4,000 are through; rank 0 ends at 9 with
  // another 1,000, and the last 2,000 go at full speed 9-11.
  Layer stage = stage_of(1, 0);
  const System system{Placement::given(4, {{Rank{0}}, {Rank{1}}, {Rank{2}}, {Rank{3}}, {Rank{0}}},
                                       {{Stage{0}, Stage{1}}, {Stage{2}, Stage{3}}, {Stage{4}}}),
                      order_of("0F0,4F2\n1F0\n2F1\n3F1"),
                      {stage, stage},
                      link(0, gb_per_s)};
  PricedPlan all = over_one_link(priced(system), Sharing::fair);
  const auto set = [&](const char* task, double us) {
    all.costs.duration[all.plan.work[task_of(all.plan, task)]] = from_us(us);
  };
  set("4F2", 8);
  set("0SEND_F0", 4);
  set("2SEND_F1", 3);
  all.conditions.transfer_slowdown = 4;
  const Outcome outcome = by_events(all);
  check_spans(outcome, {"2SEND_F1 1-5", "0SEND_F0 1-11"});
}

TEST_CASE("two thousand equal flows that share a link end together") {
  // 1,000 bytes each at 1 GB/s: 2,000,000 bytes take 2,000 us.
  FlowSet set{{{"", gb_per_s, 0}}, {}};
  set.flows.assign(2000, {0, 1000, {0}});
  const FlowPlan flows(set);
  const Timeline timeline = flows.run();
  for (std::uint32_t flow = 0; flow < 2000; ++flow) {
    CHECK(to_us(end_of(flows, timeline, flow)) == 2000);
  }
}

TEST_CASE("two thousand flows of 1, 2, 3 … bytes that share a link end one after the other") {
  // At b bytes/s a byte of n flows takes n/b: flow k ends n + (n-1) + … + (n-k+1) bytes later.
  constexpr std::uint32_t n = 2000;
  FlowSet set{{{"", 1e6, 0}}, {}};
  for (std::uint32_t k = 1; k <= n; ++k) set.flows.push_back({0, double(k), {0}});
  const FlowPlan flows(set);
  const Timeline timeline = flows.run();
  for (std::uint32_t k = 1; k <= n; ++k) {
    const double expected_us = k * (2.0 * n - k + 1) / 2;
    CHECK(to_us(end_of(flows, timeline, k - 1)) == doctest::Approx(expected_us).epsilon(1e-9));
  }
}

TEST_CASE("links of one byte and of a billion megabytes a second can be parts of one route") {
  // The first goes over both, 2 bytes in 2 s; the second has nearly all of the fast link, whose
  // 1e15 bytes/s it leaves after 3 s for 3e15 - 2 bytes.
  const FlowSet set{{{"", 1, 0}, {"", 1e15, 0}}, {{0, 2, {0, 1}}, {0, 3e15, {1}}}};
  const FlowPlan flows(set);
  const Timeline timeline = flows.run();
  CHECK(to_us(end_of(flows, timeline, 0)) == 2e6);
  CHECK(to_us(end_of(flows, timeline, 1)) == doctest::Approx(3e6).epsilon(1e-14));
}

TEST_CASE("a share so small that the clock would run out is only a share for now") {
  // 92 days alone, and for a moment one of ten: at that rate it would take 2.5 years.
  constexpr double long_us = 8e12, short_us = 1;
  FlowSet set{{{"", 1e6, 0}}, {{0, long_us, {0}}}};
  for (int i = 0; i < 9; ++i) set.flows.push_back({0, short_us, {0}});
  const FlowPlan flows(set);
  const Timeline timeline = flows.run();
  CHECK(to_us(end_of(flows, timeline, 1)) == 10);
  CHECK(picoseconds(end_of(flows, timeline, 0)) ==
        doctest::Approx((long_us + 9) * 1e6).epsilon(1e-15));
}

TEST_CASE("two transfers may together last as long as the clock runs") {
  // 50 days each; half the link each.
  const FlowSet set{{{"", 1e6, 0}}, {{0, 4.4e12, {0}}, {0, 4.4e12, {0}}}};
  CHECK(spans(set, Sharing::fair) == "0-8800000000000, 0-8800000000000");
  CHECK(spans(set, Sharing::fifo) == "0-4400000000000, 4400000000000-8800000000000");
}

}  // namespace penstock::testing
