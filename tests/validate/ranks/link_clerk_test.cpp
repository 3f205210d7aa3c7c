#include "validate/ranks/link_clerk.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

/// Rank 0 sends to 1 and rank 2 to 3 over one link that both share; a tensor takes 4 us alone.
PricedPlan two_pairs(Sharing sharing) {
  return over_one_link(priced(in_pairs({0, 1, 2, 3}, "0F0\n1F0\n2F1\n3F1")), sharing);
}

/// What ranks 1 and 3 are told when 0 sends at 1 us and 2 at `second_us`, after 2 threads have
/// asked in either order.
std::pair<Time, Time> arrivals(Sharing sharing, double second_us, bool second_asks_first) {
  const PricedPlan plan = two_pairs(sharing);
  const TaskId one = task_of(plan.plan, "0SEND_F0");
  const TaskId two = task_of(plan.plan, "2SEND_F1");
  const std::vector<Reading> first{{one, one, {}}};
  const std::vector<Reading> second{{two, two, {}}};
  LinkClerk clerk(plan);
  clerk.begin();
  std::optional<Time> there_one;
  std::optional<Time> there_two;
  const auto ask_one = [&] {
    there_one = clerk.await(1, first, {});
    clerk.finish(1);
  };
  const auto ask_two = [&] {
    there_two = clerk.await(3, second, {});
    clerk.finish(3);
  };
  std::jthread asks(second_asks_first ? std::jthread(ask_two) : std::jthread(ask_one));
  clerk.send(second_asks_first ? two : one, from_us(second_asks_first ? second_us : 1), no_task);
  clerk.finish(second_asks_first ? 2 : 0);
  std::jthread also(second_asks_first ? std::jthread(ask_one) : std::jthread(ask_two));
  clerk.send(second_asks_first ? one : two, from_us(second_asks_first ? 1 : second_us), no_task);
  clerk.finish(second_asks_first ? 0 : 2);
  asks.join();
  also.join();
  return {there_one.value(), there_two.value()};
}

}  // namespace

// Half the link each from 1 us on: both are there at 9.
TEST_CASE("link clerk: two tensors share a link fairly, whoever asks first") {
  for (const bool order : {false, true}) {
    const auto [one, two] = arrivals(Sharing::fair, 1, order);
    CHECK(to_us(one) == 9);
    CHECK(to_us(two) == 9);
  }
}

// The second comes at 3 us, when the first has 2 us left: with half the link it needs 4, until 7.
// Then the second has 2 us left and the link to itself, until 9.
TEST_CASE("link clerk: what is sent later slows down what is under way from then on") {
  for (const bool order : {false, true}) {
    const auto [one, two] = arrivals(Sharing::fair, 3, order);
    CHECK(to_us(one) == 7);
    CHECK(to_us(two) == 9);
  }
}

TEST_CASE("link clerk: first come first served, the lower stage first at one moment") {
  for (const bool order : {false, true}) {
    const auto [one, two] = arrivals(Sharing::fifo, 1, order);
    CHECK(to_us(one) == 5);
    CHECK(to_us(two) == 9);
    const auto [late, early] = arrivals(Sharing::fifo, 0.5, order);
    CHECK(to_us(early) == 4.5);
    CHECK(to_us(late) == 8.5);
  }
}

// Rank 3 waits for a tensor that nobody sends, once all others have finished.
TEST_CASE("link clerk: ranks that wait forever are told, with what they wait for") {
  const PricedPlan plan = two_pairs(Sharing::fair);
  const TaskId awaited = task_of(plan.plan, "2SEND_F1");
  const std::vector<Reading> reading{{awaited, awaited, {}}};
  LinkClerk clerk(plan);
  clerk.begin();
  for (const std::uint32_t rank : {0U, 1U, 2U}) clerk.finish(rank);
  CHECK_FALSE(clerk.await(3, reading, {}));
  REQUIRE(clerk.deadlock().size() == 4);
  CHECK_FALSE(clerk.deadlock()[0]);
  CHECK(clerk.deadlock()[3] == awaited);
}

}  // namespace penstock::testing
