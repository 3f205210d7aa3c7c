#include <doctest/doctest.h>

#include "experiments/input/formats/torch_csv.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "tests/support/refusal.hpp"

namespace penstock::testing {
namespace {

using Settings = std::map<std::string, std::string, std::less<>>;

const ScheduleEntry& rule(const char* name) { return *find_named(schedule_entries(), name); }

std::string order(const char* name, const Placement& placement, std::uint32_t microbatches,
                  const Settings& settings = {}) {
  return write_torch_csv(make_schedule(rule(name), placement, {microbatches, settings})).text;
}

std::string order(const char* name, std::uint32_t ranks, std::uint32_t chunks,
                  std::uint32_t microbatches, const Settings& settings = {}) {
  return order(name, rule(name).place(ranks, chunks), microbatches, settings);
}

/// Why a rule refuses, or "accepted".
template <class... Arguments>
std::string rule_refusal(Arguments&&... arguments) {
  return refused_with<RuleError>([&] { order(std::forward<Arguments>(arguments)...); });
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

TEST_CASE("a rule refuses sizes, placements and options that it does not have") {
  CHECK(rule_refusal("1f1b", 2, 2, 2) == "needs 1 chunk per rank, got 2");
  CHECK(rule_refusal("1f1b", Placement::loop(2, 2), 2) ==
        "rank 0 holds several stages; 1f1b needs one per rank");
  CHECK(rule_refusal("gpipe", Placement::loop(2, 2), 2) ==
        "rank 0 holds several stages; gpipe needs one per rank");
  CHECK(rule_refusal("1f1b", replicated(), 2) == "stage 1 has 2 replicas; 1f1b supports one");
  CHECK(rule_refusal("interleaved-1f1b", replicated(), 2) ==
        "stage 1 has 2 replicas; interleaved-1f1b supports one");
  CHECK(rule_refusal("interleaved-1f1b", Placement::vee(2, 2), 2) ==
        "interleaved-1f1b needs stage s on rank s mod p and equally many stages on every rank");
  CHECK(rule_refusal("1f1b", 2, 1, 2, Settings{{"group", "2"}}) ==
        "unknown option \"group\"; 1f1b takes no options");
  CHECK(rule_refusal("gpipe", 2, 1, 2, Settings{{"group", "2"}}) ==
        "unknown option \"group\"; gpipe takes backward_order");
  CHECK(rule_refusal("gpipe", 2, 1, 2, Settings{{"backward_order", "random"}}) ==
        "backward_order is \"random\": must be one of ascending, descending");
  CHECK(rule_refusal("interleaved-1f1b", 4, 2, 6) ==
        "group 4 does not fit 4 ranks and 6 microbatches: a group, and the remainder after full "
        "groups, needs at least as many microbatches as there are ranks (all of them when there "
        "are fewer)");
}

TEST_CASE("an option that is a number takes positive whole numbers only") {
  for (const char* text : {"0", "-1", "+4", "4.0", "4 ", " 4", "four", "", "99999999999", "0x4"}) {
    CAPTURE(text);
    CHECK(rule_refusal("interleaved-1f1b", 2, 2, 4, Settings{{"group", text}}) ==
          "group is \"" + std::string(text) + "\": must be a positive whole number");
  }
}

TEST_CASE("orders beyond the limit are refused before they are made") {
  CHECK(rule_refusal("1f1b", 16384, 1, 16'777'216) ==
        "16384 stages times 16777216 microbatches are too many: at most 100000000 actions");
}

TEST_CASE("every rule says what it is") {
  for (const ScheduleEntry* entry : schedule_entries()) {
    CAPTURE(entry->name);
    CHECK_FALSE(entry->summary.empty());
    CHECK_FALSE(entry->bubble.empty());
    CHECK_FALSE(entry->peak.empty());
    CHECK(find_named(schedule_entries(), entry->name) == entry);
  }
}

}  // namespace penstock::testing
