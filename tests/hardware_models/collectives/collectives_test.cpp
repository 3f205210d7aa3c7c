#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "hardware_models/collectives/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock::testing {
namespace {

using Kind = CollectiveKind;

// 1000 bytes take 1 us inside a machine, and 10 us out of it.
constexpr Speed inside{1e9, 2};
constexpr Speed outside{1e8, 7};

CollectiveCall call_of(Kind kind, double bytes, Members members) {
  return {kind, bytes, members, {inside, outside}};
}
CollectiveCall in_one_machine(Kind kind, double bytes, std::uint64_t members) {
  return call_of(kind, bytes, {members, members});
}

const CollectiveEntry& algorithm(std::string_view name) {
  const CollectiveEntry* entry = find_named(collective_entries(), name);
  REQUIRE(entry != nullptr);
  return *entry;
}
double us(std::string_view name, const CollectiveCall& call) { return algorithm(name).us(call); }

/// Calls `check(entry, call)` for every algorithm, each kind that it serves, and groups of all
/// sorts: in one machine, in several, one member in each.
template <class Check>
void for_each_call(Check check) {
  for (const CollectiveEntry* entry : collective_entries()) {
    for (const ServedKind& served : entry->kinds) {
      for (const Members members :
           {Members{2, 2}, Members{3, 3}, Members{4, 4}, Members{5, 5}, Members{7, 7},
            Members{8, 8}, Members{9, 9}, Members{16, 16}, Members{6, 1}, Members{8, 1},
            Members{6, 2}, Members{12, 4}, Members{16, 2}}) {
        for (const double bytes : {24.0, 48e3, 96e6}) {
          CAPTURE(entry->name);
          CAPTURE(name(served.kind));
          CAPTURE(members.count);
          CAPTURE(members.per_machine);
          CAPTURE(bytes);
          const CollectiveCall call = call_of(served.kind, bytes, members);
          if (entry->rounds == nullptr || !applies(*entry, call)) continue;
          check(*entry, call);
        }
      }
    }
  }
}

/// Bytes that one member sends and receives in a round, in its machine and out of it.
struct Load {
  double sends = 0;
  double receives = 0;
  double most() const { return std::max(sends, receives); }
};

/// How long a round takes when each member sends and receives what it has to over links of its own.
double busiest_us(const Round& round, const CollectiveCall& call) {
  std::vector<Load> in(call.members.count), out(call.members.count);
  for (const Send& sending : round.sendings) {
    const std::uint64_t l = call.members.per_machine;
    auto& loads = sending.from / l == sending.to / l ? in : out;
    loads[sending.from].sends += sending.bytes;
    loads[sending.to].receives += sending.bytes;
  }
  double longest = 0;
  for (std::uint64_t member = 0; member < call.members.count; ++member) {
    if (in[member].most() > 0) {
      longest = std::max(longest, rounds_us(1, in[member].most(), call.reach.inside));
    }
    if (out[member].most() > 0) {
      longest = std::max(longest, rounds_us(1, out[member].most(), call.reach.outside));
    }
  }
  return longest;
}

double busiest_us(const Rounds& rounds, const CollectiveCall& call) {
  double sum = 0;
  for (const Round& round : rounds) {
    sum += static_cast<double>(round.times) * busiest_us(round, call);
  }
  return sum;
}

/// Of whom each member can have heard after all rounds, when each passes on all it knows.
std::vector<std::set<std::uint32_t>> heard_of(const Rounds& rounds, std::uint64_t members) {
  std::vector<std::set<std::uint32_t>> knows(members);
  for (std::uint32_t member = 0; member < members; ++member) knows[member] = {member};
  for (const Round& round : rounds) {
    for (std::uint64_t time = 0; time < round.times; ++time) {
      const auto before = knows;
      for (const Send& sending : round.sendings) {
        knows[sending.to].insert(before[sending.from].begin(), before[sending.from].end());
      }
    }
  }
  return knows;
}

std::vector<double> received(const Rounds& rounds, std::uint64_t members) {
  std::vector<double> bytes(members);
  for (const Round& round : rounds) {
    for (const Send& sending : round.sendings) {
      bytes[sending.to] += static_cast<double>(round.times) * sending.bytes;
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("ring: an all-reduce goes round twice, each step with a share and a latency") {
  // A quarter of 4000 bytes takes 1 us, and arrives 2 us later.
  const auto ring_us = [](Kind kind) { return us("ring", in_one_machine(kind, 4000, 4)); };
  CHECK(ring_us(Kind::all_reduce) == doctest::Approx(6 * (1 + 2)));
  CHECK(ring_us(Kind::all_gather) == doctest::Approx(3 * (1 + 2)));
  CHECK(ring_us(Kind::reduce_scatter) == doctest::Approx(3 * (1 + 2)));
  CHECK(ring_us(Kind::ring_exchange) == doctest::Approx(3 * (4 + 2)));
  // In two machines of two there are two rings, each out of a NIC of its own: half of a share
  // takes 5 us. Every second step of a ring crosses: 7 us, the others 2.
  CHECK(us("ring", call_of(Kind::all_reduce, 4000, {4, 2})) == doctest::Approx(6 * (5 + 4.5)));
  // Neighbours that exchange whole tensors have one NIC: 40 us.
  CHECK(us("ring", call_of(Kind::ring_exchange, 4000, {4, 2})) == doctest::Approx(3 * (40 + 7)));
}

TEST_CASE("ring: in uneven machines there are as many rings as the smallest has members") {
  // Six and five: five NICs of 100 MB/s. 10 steps of 1000 bytes at 500 MB/s.
  CollectiveCall call = call_of(Kind::all_gather, 11000, {11, 6});
  call.reach.inside.latency_us = call.reach.outside.latency_us = 0;
  CHECK(call.members.machines() == 2);
  CHECK(call.members.fewest() == 5);
  CHECK(us("ring", call) == doctest::Approx(10 * 2));
  // Eight and two, as a scenario may place them: two NICs.
  call.members = {10, 8, 2, 2};
  call.bytes = 10000;
  CHECK(us("ring", call) == doctest::Approx(9 * 5));
}

TEST_CASE("ring: a broadcast goes in chunks, so that all links are busy at once") {
  // Four hops of 1000 us with 2 us of latency: the best number of chunks is about sqrt(3 * 1000 /
  // 2) = 38.7; with 39 of them there are 3 + 39 rounds.
  CHECK(us("ring", in_one_machine(Kind::broadcast, 1e6, 5)) ==
        doctest::Approx((3 + 39) * (1000.0 / 39 + 2)));
  // 1 us is not worth a second latency: four hops one after the other.
  CHECK(us("ring", in_one_machine(Kind::broadcast, 1e3, 5)) == doctest::Approx(4 * (1 + 2)));
}

TEST_CASE("tree: whole, an all-reduce takes two ways of log2(n) levels, each with all bytes") {
  // 500 bytes take 0.5 us. Seven members: a root, two, and four. Unchunked 2 * 2 * (0.5 + 2).
  CHECK(us("tree", in_one_machine(Kind::all_reduce, 500, 7)) == doctest::Approx(4 * (0.5 + 2)));
  // Fifteen and up to 31 the same with 2 * 3 and 2 * 4 levels.
  CHECK(us("tree", in_one_machine(Kind::all_reduce, 500, 15)) == doctest::Approx(6 * (0.5 + 2)));
  CHECK(us("tree", in_one_machine(Kind::all_reduce, 500, 31)) == doctest::Approx(8 * (0.5 + 2)));
  // Of eight, one alone is on the lowest level of each tree: that round moves half, up and down.
  CHECK(us("tree", in_one_machine(Kind::all_reduce, 500, 8)) ==
        doctest::Approx(6 * (0.5 + 2) - 2 * 0.25));
}

TEST_CASE("tree: in many chunks the levels overlap, and an all-reduce sends all bytes twice") {
  CollectiveCall call = in_one_machine(Kind::all_reduce, 1e9, 31);
  call.reach.inside.latency_us = 0;
  // 1024 chunks through four levels up, and down: 2 * (4 + 1023) / 1024 times a second.
  CHECK(us("tree", call) == doctest::Approx(2e6 * 1027 / 1024));
}

TEST_CASE("tree: a broadcast takes one level more than the trees of the others have") {
  // Member 0 above seven others: 1 + 2 levels.
  CHECK(us("tree", in_one_machine(Kind::broadcast, 500, 8)) == doctest::Approx(3 * (0.5 + 2)));
  CHECK(us("tree", in_one_machine(Kind::broadcast, 500, 2)) == doctest::Approx(0.5 + 2));
}

TEST_CASE("hierarchical: shares of the bytes inside machines, and shares of these across them") {
  // Three machines of four. Inside a quarter of 12000 bytes takes 3 us and 2, across a twelfth 10
  // us and 7.
  const auto of = [](Kind kind) { return us("hierarchical", call_of(kind, 12000, {12, 4})); };
  CHECK(of(Kind::all_reduce) == doctest::Approx(2 * 3 * (3 + 2) + 2 * 2 * (10 + 7)));
  CHECK(of(Kind::reduce_scatter) == doctest::Approx(3 * (3 + 2) + 2 * (10 + 7)));
  CHECK(of(Kind::all_gather) == doctest::Approx(2 * (10 + 7) + 3 * (3 + 2)));
  // In an all-to-all each member carries a third of 12000 bytes to each other machine.
  CHECK(of(Kind::all_to_all) == doctest::Approx(3 * (3 + 2) + 2 * (40 + 7)));
}

TEST_CASE("hierarchical: within one machine, or one member in each, it is a ring") {
  for (const Members members : {Members{8, 8}, Members{8, 1}}) {
    for (const Kind kind : {Kind::all_reduce, Kind::reduce_scatter, Kind::all_gather}) {
      const CollectiveCall call = call_of(kind, 8000, members);
      CHECK(us("hierarchical", call) == us("ring", call));
    }
    const CollectiveCall call = call_of(Kind::all_to_all, 8000, members);
    CHECK(us("hierarchical", call) == doctest::Approx(us("pairwise", call)));
  }
}

TEST_CASE("pairwise: every member sends a share to each other one, first inside its machine") {
  CHECK(us("pairwise", in_one_machine(Kind::all_to_all, 4000, 4)) == doctest::Approx(3 * (1 + 2)));
  // One round inside, two across.
  CHECK(us("pairwise", call_of(Kind::all_to_all, 4000, {4, 2})) ==
        doctest::Approx((1 + 2) + 2 * (10 + 7)));
}

TEST_CASE("formulas say of rounds what their busiest members take") {
  for_each_call([](const CollectiveEntry& entry, const CollectiveCall& call) {
    const double by_rounds = busiest_us(entry.rounds(call), call);
    const bool exchanges = call.kind == Kind::ring_exchange;
    const bool whole = entry.name == std::string_view("pairwise") ||
                       (exchanges && entry.name == std::string_view("ring")) ||
                       (!exchanges && entry.name == std::string_view("hierarchical"));
    if (call.members.mixed() && !whole) {
      // Rounds wait for their slowest step, formulas have the mean; chunks that have yet to leave
      // the first machine, or have reached the last, count as leaving.
      CollectiveCall at_once = call;
      at_once.reach.inside.latency_us = at_once.reach.outside.latency_us = 1e-6;
      const double shares = busiest_us(entry.rounds(at_once), at_once);
      CHECK(entry.us(at_once) >= shares * (1 - 1e-12));
      if (entry.name == std::string_view("ring") && call.kind != Kind::broadcast) {
        CHECK(entry.us(at_once) == doctest::Approx(shares).epsilon(1e-12));
      }
      if (entry.name == std::string_view("ring")) CHECK(entry.us(call) <= by_rounds * (1 + 1e-12));
    } else {
      CHECK(entry.us(call) == doctest::Approx(by_rounds).epsilon(1e-12));
    }
  });
}

TEST_CASE(
    "after all rounds each member has heard of every other, and of a broadcast of its source") {
  for_each_call([](const CollectiveEntry& entry, const CollectiveCall& call) {
    const auto knows = heard_of(entry.rounds(call), call.members.count);
    for (const auto& known : knows) {
      if (call.kind == Kind::broadcast) {
        CHECK(known.contains(0));
      } else {
        CHECK(known.size() == call.members.count);
      }
    }
  });
}

TEST_CASE("members receive no less than what they do not have, and a reduction as little") {
  for_each_call([](const CollectiveEntry& entry, const CollectiveCall& call) {
    const auto n = static_cast<double>(call.members.count);
    const double missing = call.kind == Kind::broadcast       ? call.bytes
                           : call.kind == Kind::ring_exchange ? (n - 1) * call.bytes
                                                              : (n - 1) / n * call.bytes;
    const std::vector<double> bytes = received(entry.rounds(call), call.members.count);
    double sum = 0;
    for (std::size_t member = 0; member < bytes.size(); ++member) {
      sum += bytes[member];
      if (call.kind == Kind::broadcast && member == 0) continue;
      CHECK(bytes[member] >= missing * (1 - 1e-12));
    }
    // All-reduce: everything but one's own is summed somewhere, and comes back from there.
    if (call.kind == Kind::all_reduce) CHECK(sum == doctest::Approx(2 * (n - 1) * call.bytes));
  });
}

TEST_CASE("in-network: a member sends all it has, and once the sum of its shard") {
  CollectiveCall call = in_one_machine(Kind::all_reduce, 8000, 8);
  CHECK_FALSE(applies(algorithm("in-network"), call));
  call.reach.in_network = Speed{1e9, 60};
  CHECK(applies(algorithm("in-network"), call));
  CHECK(us("in-network", call) == doctest::Approx(9 + 60));
  // Little goes round a ring or a tree, much through the switch.
  CHECK(quickest(call).name != "in-network");
  call.bytes = 8e6;
  CHECK(quickest(call).name == "in-network");
  // Only sums, and in one machine; a choice that a group does not support gives way.
  call.members = {8, 4};
  CHECK_FALSE(applies(algorithm("in-network"), call));
  const CollectiveChoice choice{{Kind::all_reduce, &algorithm("in-network")}};
  CHECK(collective_us(call, choice) == collective_us(call));
  call.kind = Kind::all_gather;
  call.members = {8, 8};
  CHECK(quickest(call).name != "in-network");
}

TEST_CASE(
    "uneven machines: all members hear of each other, and no formula is far from its rounds") {
  for (const CollectiveEntry* entry : collective_entries()) {
    if (entry->rounds == nullptr) continue;
    for (const ServedKind& served : entry->kinds) {
      for (const Members members : {Members{3, 2}, Members{11, 6}, Members{20, 7}, Members{7, 4}}) {
        CAPTURE(entry->name);
        CAPTURE(name(served.kind));
        CAPTURE(members.count);
        CollectiveCall call = call_of(served.kind, 1e9, members);
        call.reach.inside.latency_us = call.reach.outside.latency_us = 0;
        std::uint32_t heard = 0;
        for (const auto& known : heard_of(entry->rounds(call), members.count)) {
          heard += known.size() == members.count ? 1 : 0;
        }
        if (served.kind != Kind::broadcast && !(entry->name == std::string_view("hierarchical"))) {
          CHECK(heard == members.count);
        }
        CHECK(entry->us(call) > 0);
      }
    }
  }
}

TEST_CASE("the number of chunks is about the best there is") {
  // What the formula of a ring's broadcast takes with any other number is hardly less.
  for (const double bytes : {1e3, 1e5, 1e7}) {
    for (const std::uint64_t n : {3U, 8U, 64U}) {
      const double chosen = us("ring", in_one_machine(Kind::broadcast, bytes, n));
      for (std::uint64_t k = 1; k <= 1024; ++k) {
        const double with_k = rounds_us(n - 2 + k, bytes / static_cast<double>(k), inside);
        CHECK(chosen <= with_k * 1.03);
      }
    }
  }
}

TEST_CASE("left open, the quickest algorithm is taken: trees for little, rings for much") {
  const auto quickest_of = [](double bytes, Members members) {
    return std::string(quickest(call_of(Kind::all_reduce, bytes, members)).name);
  };
  CHECK(quickest_of(100, {64, 1}) == "tree");
  // Alone in its machine, each member is a ring of one inside: the hierarchical way is the ring.
  CHECK(us("ring", call_of(Kind::all_reduce, 1e9, {64, 1})) <
        us("tree", call_of(Kind::all_reduce, 1e9, {64, 1})));
  // Eight machines of eight: rings keep inside and outside busy at once, legs one after the other.
  CHECK(quickest_of(1e9, {64, 8}) == "ring");
  for (const double bytes : {1e2, 1e4, 1e6, 1e8}) {
    const CollectiveCall call = call_of(Kind::all_reduce, bytes, {64, 8});
    const double all[] = {us("ring", call), us("tree", call), us("hierarchical", call)};
    CHECK(collective_us(call) == *std::min_element(std::begin(all), std::end(all)));
  }
  CHECK(collective_us(in_one_machine(Kind::all_reduce, 1e6, 1)) == 0);
}

TEST_CASE("an algorithm may be chosen for a kind, and leaves the other kinds open") {
  const CollectiveChoice choice{{Kind::all_reduce, &algorithm("tree")}};
  const CollectiveCall reduce = call_of(Kind::all_reduce, 1e9, {64, 1});
  const CollectiveCall gather = call_of(Kind::all_gather, 1e9, {64, 1});
  CHECK(collective_us(reduce, choice) == us("tree", reduce));
  CHECK(collective_us(reduce, choice) > collective_us(reduce));
  CHECK(collective_us(gather, choice) == us("ring", gather));
}

TEST_CASE("an algorithm that does not serve a kind is refused with those that do") {
  CHECK_THROWS_WITH_AS(collective_algorithm(Kind::all_to_all, "tree"),
                       "unknown algorithm \"tree\"; known for all_to_all: auto, deduplicated, "
                       "hierarchical, pairwise",
                       InputError);
  CHECK_THROWS_WITH_AS(collective_algorithm(Kind::all_reduce, "star"),
                       "unknown algorithm \"star\"; known for all_reduce: auto, hierarchical, "
                       "in-network, ring, tree",
                       InputError);
  CHECK(collective_algorithm(Kind::broadcast, "tree").name == "tree");
}

TEST_CASE("every kind has a name of its own and an algorithm that serves it") {
  std::set<std::string_view> names;
  for (std::uint8_t number = 0; number <= static_cast<std::uint8_t>(Kind::ring_exchange);
       ++number) {
    const Kind kind{number};
    names.insert(name(kind));
    CHECK(collective_kind(name(kind)) == kind);
    CHECK(collective_us(in_one_machine(kind, 1e6, 4)) > 0);
  }
  CHECK(names.size() == 6);
  CHECK(collective_kind("gossip") == std::nullopt);
}

TEST_CASE("formulas of a million members take no longer than those of two") {
  for (const CollectiveEntry* entry : collective_entries()) {
    for (const ServedKind& served : entry->kinds) {
      for (const Members members : {Members{1U << 20, 1}, Members{1U << 20, 8}}) {
        CHECK(entry->us(call_of(served.kind, 1e18, members)) > 0);
      }
    }
  }
}

TEST_CASE("a deduplicated exchange sends a value once to each machine and each member") {
  CollectiveCall call = call_of(Kind::all_to_all, 8000, {8, 8});
  CHECK_FALSE(applies(algorithm("deduplicated"), call));  // a value for each member
  call.copies = 2;
  REQUIRE(applies(algorithm("deduplicated"), call));
  // Of eight members, the seven others get a value with probability 1 - (7/8)^2.
  const double reached = 7 * (1 - 49.0 / 64);
  CHECK(us("deduplicated", call) == doctest::Approx(4 * reached + 2));
  CHECK(us("deduplicated", call) < us("pairwise", call));
  // Two machines of one member each: a value crosses with probability 1 - 1/4.
  call.members = {2, 1};
  CHECK(us("deduplicated", call) == doctest::Approx(40 * 0.75 + 7));
}

TEST_CASE("a deduplicated exchange reaches each member of all machines alike") {
  CollectiveCall call = call_of(Kind::all_to_all, 8000, {8, 2});
  call.copies = 2;
  call.reach.inside.bandwidth_bytes_per_s = 1e7;  // 1000 bytes take 100 us, and decide
  // In each of four machines, the other member gets a value with probability 1 - (7/8)^2.
  CHECK(us("deduplicated", call) == doctest::Approx(400 * 4 * (1 - 49.0 / 64) + 2));
}

}  // namespace penstock::testing
