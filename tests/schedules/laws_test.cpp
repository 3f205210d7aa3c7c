#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <regex>
#include <set>
#include <utility>
#include <variant>

#include "experiments/measure/reproduction/formula.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/order/order_fault.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/lower.hpp"
#include "tests/support/ruled_system.hpp"

namespace penstock::testing {
namespace {

/// A rule at work on equal stages, or nothing where it does not allow the sizes.
std::optional<System> allowed_system_of(std::string_view name, Sizes sizes, const Layer& stage,
                                        const CatalogueSettings& settings = {}) {
  try {
    return system_of(name, sizes, stage, settings);
  } catch (const RuleError&) {
    return std::nullopt;
  }
}

System named(const char* name, Sizes sizes, double forward_us, double backward_us,
             double transfer_us = 0) {
  System system = system_of(name, sizes, stage_of(forward_us, backward_us));
  system.hardware = delay(transfer_us);
  return system;
}

double makespan_us(const System& system) { return to_us(simulated(system).report.makespan); }

/// f = i = w = 1 and b = 2, for which the closed forms of split and whole backwards all hold.
Layer equal_stage() { return stage_of(1, 1, 1); }

/// What an option may be set to: small numbers, and the words that its summary names.
std::vector<std::string> values_of(const ScheduleOption& option) {
  std::vector<std::string> values{"1", "2", "3", "4"};
  std::string word;
  for (const char c : std::string(option.summary) + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') {
      word += c;
    } else if (!word.empty()) {
      values.push_back(std::exchange(word, {}));
    }
  }
  return values;
}

/// Calls `visit(entry, sizes, system)` for every rule at all sizes that it allows, without options.
template <class Visitor>
void for_each_rule(Visitor visit) {
  for (const ScheduleEntry* entry : schedule_entries()) {
    CAPTURE(entry->name);
    int allowed = 0;
    for (const std::uint32_t p : {1U, 2U, 3U, 4U, 6U, 8U}) {
      for (const std::uint32_t v : {1U, 2U, 3U, 4U}) {
        for (const std::uint32_t m : {1U, 2U, 3U, 4U, 6U, 8U, 12U, 16U, 32U}) {
          const auto system = allowed_system_of(entry->name, {p, v, m}, equal_stage());
          if (!system) continue;
          ++allowed;
          CAPTURE(p);
          CAPTURE(v);
          CAPTURE(m);
          visit(*entry, Sizes{p, v, m}, *system);
        }
      }
    }
    CHECK(allowed > 0);
  }
}

/// A closed form with `*` between adjacent factors: "mv + 2(p-r)" as "m*v + 2*(p-r)".
std::string spelled_out(const std::string& form) {
  static const std::regex opening(R"((min|max|ceil|floor)?\(|group|[a-z]|\d+)");
  std::string text, rest = form;
  for (std::smatch match; std::regex_search(rest, match, opening); rest = match.suffix()) {
    text += match.prefix();
    const std::size_t last = text.find_last_not_of(' ');
    const char before = last == std::string::npos ? '(' : text[last];
    if (std::isalnum(before) != 0 || before == ')') text += '*';
    text += match.str();
  }
  return text + rest;
}

/// The most activations that a rule says rank r holds; "at most" in front makes it a bound.
bool peak_fits(std::string_view peak, std::uint32_t held, const Names& values) {
  constexpr std::string_view bound = "at most ";
  const bool bounds = peak.starts_with(bound);
  const double most =
      value_of(spelled_out(std::string(peak.substr(bounds ? bound.size() : 0))), values);
  return bounds ? held <= most : held == most;
}

}  // namespace

TEST_CASE("every rule gives orders that are complete, without faults and free of deadlock") {
  for_each_rule([](const ScheduleEntry&, Sizes sizes, const System& system) {
    const auto fault = find_order_fault(system.schedule, system.placement);
    if (fault) FAIL(fault->text);
    // Sequence-sliced rules number slices: a multiple of the microbatches.
    REQUIRE(MicrobatchColumns(system.schedule).count() % sizes.microbatches == 0);
    const auto result = lower(system.schedule, system.placement);
    if (const auto* deadlock = std::get_if<Deadlock>(&result)) FAIL(text(*deadlock));
    const std::vector<bool> one_order = links_in_one_order(std::get<Plan>(result));
    REQUIRE(std::get<Plan>(result).in_one_order == one_order);
    REQUIRE(std::find(one_order.begin(), one_order.end(), false) == one_order.end());
  });
}

TEST_CASE("with every value of every option that a rule takes, its orders are sound too") {
  for (const ScheduleEntry* entry : schedule_entries()) {
    for (const ScheduleOption& option : entry->options) {
      CAPTURE(entry->name);
      CAPTURE(option.name);
      std::set<std::string> taken;
      for (const std::string& value : values_of(option)) {
        const CatalogueSettings settings{{std::string(option.name), value}};
        for (const std::uint32_t p : {1U, 2U, 4U}) {
          for (const std::uint32_t m : {1U, 2U, 4U, 6U, 8U}) {
            for (const std::uint32_t v : {1U, 2U, 4U}) {
              const auto system =
                  allowed_system_of(entry->name, {p, v, m}, equal_stage(), settings);
              if (!system) continue;
              taken.insert(value);
              CAPTURE(value);
              REQUIRE(simulated(*system).report.makespan > Time{});  // no fault, no deadlock
            }
          }
        }
      }
      CHECK(taken.size() >= 2);
    }
  }
}

TEST_CASE("no rule is quicker than its busiest rank, nor than one microbatch through all stages") {
  for_each_rule([](const ScheduleEntry&, Sizes, const System& system) {
    const Outcome outcome = simulated(system);
    const Time f = from_us(1);
    bool backward = false;
    for (const WorkClass& work : outcome.plan.classes) backward |= gives_gradient(work.pass);
    Time through{};
    for (std::size_t s = 0; s < system.stages.size(); ++s) through += backward ? f + f : f;
    REQUIRE(outcome.report.makespan >= through);
    for (const RankReport& rank : outcome.report.ranks) {
      REQUIRE(outcome.report.makespan >= rank.busy);
      REQUIRE(rank.busy == outcome.report.ranks.front().busy);  // equal stages, equal work
    }
  });
}

TEST_CASE("the closed form of every rule's bubble is what its order comes to") {
  for_each_rule([](const ScheduleEntry& entry, Sizes sizes, const System& system) {
    if (entry.bubble_of_makespan == nullptr) return;
    const double closed = entry.bubble_of_makespan(sizes.ranks, sizes.chunks, sizes.microbatches);
    if (std::isnan(closed)) return;
    REQUIRE(simulated(system).report.bubble.of_makespan == doctest::Approx(closed).epsilon(1e-12));
  });
}

TEST_CASE("every rule holds as many activations as `penstock list schedules` says") {
  for_each_rule([](const ScheduleEntry& entry, Sizes sizes, const System& system) {
    const std::vector<RankReport> ranks = simulated(system).report.ranks;
    const auto [p, v, m] = sizes;
    for (std::uint32_t r = 0; r < p; ++r) {
      CAPTURE(r);
      const Names values{{"p", p}, {"v", v}, {"m", m}, {"r", r}, {"group", std::min(p, m)},
                         {"k", 2}};
      REQUIRE(peak_fits(entry.peak, ranks[r].peak_activations, values));
    }
  });
}

TEST_CASE("gpipe and 1f1b take (m+p-1)(f+b), and forward-only (m+p-1)f") {
  for (const std::uint32_t p : {1U, 2U, 4U, 7U}) {
    for (const std::uint32_t m : {1U, 3U, 4U, 16U}) {
      CAPTURE(p);
      CAPTURE(m);
      CHECK(makespan_us(named("gpipe", {p, 1, m}, 3, 5)) == (m + p - 1) * (3 + 5));
      CHECK(makespan_us(named("1f1b", {p, 1, m}, 3, 5)) == (m + p - 1) * (3 + 5));
      CHECK(makespan_us(named("forward-only", {p, 1, m}, 3, 5)) == (m + p - 1) * 3);
      CHECK(makespan_us(named("naive", {p, 1, m}, 3, 5)) == m * p * (3 + 5));
    }
  }
}

TEST_CASE("delays cost gpipe 2(p-1)c once, and 1f1b again and again") {
  // p = 4, m = 16, f = 1, b = 2: both take (16+3)*3 = 57 without delays. At c = 0.5 gpipe pays
  // 2*3*0.5 = 3 more; plain 1f1b has only p in flight, and a round trip is 4*3 + 3 = 15 for
  // every 4.
  const Sizes sizes{4, 1, 16};
  CHECK(makespan_us(named("gpipe", sizes, 1, 2, 0)) == 57);
  CHECK(makespan_us(named("1f1b", sizes, 1, 2, 0)) == 57);
  CHECK(makespan_us(named("gpipe", sizes, 1, 2, 0.5)) == 60);
  CHECK(makespan_us(named("1f1b", sizes, 1, 2, 0.5)) == 71);
  CHECK(makespan_us(named("forward-only", sizes, 1, 2, 0.5)) == 19 + 3 * 0.5);
}

TEST_CASE(
    "interleaved-1f1b on four ranks with two chunks pays 14 delays, however many microbatches") {
  for (const std::uint32_t m : {8U, 16U}) {
    const double free = makespan_us(named("interleaved-1f1b", {4, 2, m}, 1, 2, 0));
    for (const double c : {0.25, 0.5, 1.0}) {
      CHECK(makespan_us(named("interleaved-1f1b", {4, 2, m}, 1, 2, c)) == free + 14 * c);
    }
  }
}

TEST_CASE("interleaved-1f1b allows exactly the groups of its rule, each with the same bubble") {
  for (const std::uint32_t p : {1U, 2U, 3U, 4U}) {
    for (const std::uint32_t v : {1U, 2U, 3U}) {
      for (std::uint32_t m = 1; m <= 13; ++m) {
        for (std::uint32_t group = 1; group <= m + 1; ++group) {
          CAPTURE(p);
          CAPTURE(v);
          CAPTURE(m);
          CAPTURE(group);
          const auto system = allowed_system_of("interleaved-1f1b", {p, v, m}, stage_of(1, 2),
                                                {{"group", std::to_string(group)}});
          const bool legal =
              m < p ? group == m : group >= p && group <= m && (m % group == 0 || m % group >= p);
          REQUIRE(system.has_value() == legal);
          if (!system) continue;
          const Outcome outcome = simulated(*system);
          // Each rank works m v (f+b), and waits (p-1)(f+b) of one chunk.
          if (m >= p) REQUIRE(to_us(outcome.report.makespan) == (m * v + p - 1) * 3);
          for (std::uint32_t r = 0; r < p; ++r) {
            REQUIRE(peak_fits(rule("interleaved-1f1b").peak,
                              outcome.report.ranks[r].peak_activations,
                              {{"p", p}, {"v", v}, {"m", m}, {"r", r}, {"group", group}}));
          }
        }
      }
    }
  }
}

TEST_CASE("gpipe takes as long in either order of its backwards, with unequal stages too") {
  // All forwards come first, so which microbatch the k-th backward is of does not matter. Stages
  // (1, 2) and (3, 4), m = 3: rank 1 works without a pause from 1 to 22, and rank 0 ends with one B
  // of 2.
  for (const char* order : {"ascending", "descending"}) {
    System system = system_of("gpipe", {2, 1, 3}, stage_of(1, 2), {{"backward_order", order}});
    CHECK(makespan_us(system) == 12);
    system.stages.back() = stage_of(3, 4);
    CHECK(makespan_us(system) == 24);
  }
}

}  // namespace penstock::testing
