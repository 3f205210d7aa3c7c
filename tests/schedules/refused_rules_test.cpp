#include <doctest/doctest.h>
#include <fmt/format.h>

#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/order/schedule.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/ruled_system.hpp"
#include "tests/support/says.hpp"

// What rules refuse, and what the catalogue says of them.

namespace penstock::testing {
namespace {

/// Why a rule refuses sizes or settings, or "accepted".
std::string catalogue_refusal(std::string_view name, Sizes sizes,
                              const CatalogueSettings& settings = {}) {
  return refused_with<RuleError>([&] { system_of(name, sizes, stage_of(1, 1, 1), settings); });
}

/// Why a rule refuses a placement.
std::string catalogue_refusal(std::string_view name, const Placement& placement) {
  return refused_with<RuleError>([&] { make_schedule(rule(name), placement, {8, {}}); });
}

}  // namespace

TEST_CASE("no rule makes an order without ranks or without microbatches") {
  for (const ScheduleEntry* entry : schedule_entries()) {
    CAPTURE(entry->name);
    const std::uint32_t chunks = usual_chunks(*entry, {8, {}});
    CHECK(catalogue_refusal(entry->name, {0, chunks, 8}) ==
          "0 stages and 8 microbatches are no schedule: at least 1 of each");
    CHECK(says(catalogue_refusal(entry->name, {4, chunks, 0}),
               " and 0 microbatches are no schedule"));
  }
}

TEST_CASE("hanayo of W waves has 2W chunks a rank") {
  CHECK(usual_chunks(rule("hanayo"), {4, {}}) == 2);
  CHECK(usual_chunks(rule("hanayo"), {4, {{"waves", "3"}}}) == 6);
  CHECK(catalogue_refusal("hanayo", {4, 6, 4}, {{"waves", "3"}}) == "accepted");
  CHECK(catalogue_refusal("hanayo", {4, 4, 4}, {{"waves", "3"}}) ==
        "hanayo needs 6 stages per rank that snake over the ranks: 0, 1, …, p-1, p-1, …, 0");
  CHECK(catalogue_refusal("hanayo", {4, 3, 4}) == "needs 2 chunks per rank for each wave, got 3");
}

TEST_CASE("rules of one stage a rank, or two, take no other number of chunks") {
  for (const char* name : {"naive", "forward-only", "gpipe", "1f1b", "eager-1f1b", "seq-1f1b",
                           "zb-h1", "zb-h2", "pipedream", "pipedream-2bw", "bpipe"}) {
    CAPTURE(name);
    CHECK(catalogue_refusal(name, {4, 1, 8}) == "accepted");
    CHECK(catalogue_refusal(name, {4, 2, 8}) == "needs 1 chunk per rank, got 2");
  }
  for (const char* name : {"zb-v", "v-half", "v-min", "dualpipe", "dualpipev", "chimera"}) {
    CAPTURE(name);
    CHECK(catalogue_refusal(name, {4, 2, 8}) == "accepted");
    for (const std::uint32_t chunks : {1U, 3U}) {
      CHECK(catalogue_refusal(name, {4, chunks, 8}) ==
            fmt::format("needs 2 chunks per rank, got {}", chunks));
    }
  }
}

TEST_CASE("bidirectional rules state the ranks and microbatches that they need") {
  const auto dualpipe = [](std::uint32_t p, std::uint32_t m) {
    return fmt::format("p = {} and m = {} do not fit: both must be even and m at least 2p", p, m);
  };
  CHECK(catalogue_refusal("dualpipe", {3, 2, 8}) == dualpipe(3, 8));
  CHECK(catalogue_refusal("dualpipe", {4, 2, 9}) == dualpipe(4, 9));
  CHECK(catalogue_refusal("dualpipe", {4, 2, 6}) == dualpipe(4, 6));
  CHECK(catalogue_refusal("dualpipev", {3, 2, 6}) == "accepted");
  CHECK(catalogue_refusal("dualpipev", {4, 2, 7}) ==
        "m = 7 is too small for p = 4: it must be at least 2p");
  const auto chimera = [](std::uint32_t p, std::uint32_t m, const char* needs) {
    return fmt::format("p = {} and m = {} do not fit: p must be even and {}", p, m, needs);
  };
  CHECK(catalogue_refusal("chimera", {3, 2, 6}) == chimera(3, 6, "m a multiple of p, or p/2"));
  CHECK(catalogue_refusal("chimera", {4, 2, 6}) == chimera(4, 6, "m a multiple of p, or p/2"));
  CHECK(catalogue_refusal("chimera", {4, 2, 2}) == "accepted");
  const CatalogueSettings doubling{{"remedy", "forward-doubling"}},
      halving{{"remedy", "backward-halving"}};
  CHECK(catalogue_refusal("chimera", {4, 2, 8}, doubling) == "accepted");
  CHECK(catalogue_refusal("chimera", {4, 2, 4}, doubling) == chimera(4, 4, "m a multiple of 2p"));
  CHECK(catalogue_refusal("chimera", {4, 2, 4}, halving) == "accepted");
  CHECK(catalogue_refusal("chimera", {4, 2, 6}, halving) == chimera(4, 6, "m a multiple of p"));
}

TEST_CASE("interleaved rules state the groups that they allow") {
  for (const char* name : {"interleaved-1f1b", "interleaved-zb"}) {
    CHECK(catalogue_refusal(name, {4, 2, 8}, {{"group", "8"}}) == "accepted");
    CHECK(catalogue_refusal(name, {4, 2, 8}, {{"group", "3"}}) ==
          "group 3 does not fit 4 ranks and 8 microbatches: a group, and the remainder after full "
          "groups, needs at least as many microbatches as there are ranks (all of them when there "
          "are fewer)");
    CHECK(catalogue_refusal(name, {4, 2, 9})
              .starts_with("group 4 does not fit 4 ranks and 9 microbatches"));
  }
}

TEST_CASE("rules refuse stages that do not lie where they need them") {
  const Placement loop = Placement::loop(4, 2), vee = Placement::vee(4, 2);
  for (const char* name : {"zb-v", "v-half", "v-min", "dualpipev", "hanayo"}) {
    CHECK(
        catalogue_refusal(name, loop) ==
        fmt::format("{} needs 2 stages per rank that snake over the ranks: 0, 1, …, p-1, p-1, …, 0",
                    name));
  }
  for (const char* name : {"interleaved-1f1b", "interleaved-zb", "looped-bfs"}) {
    CHECK(catalogue_refusal(name, vee) ==
          fmt::format("{} needs stage s on rank s mod p and equally many stages on every rank",
                      name));
  }
  for (const char* name : {"chimera", "dualpipe"}) {
    CHECK(
        catalogue_refusal(name, vee) ==
        fmt::format("{} needs two copies of the model in opposite directions of the ranks", name));
  }
  for (const char* name : {"gpipe", "1f1b", "eager-1f1b", "seq-1f1b", "zb-h1", "zb-h2", "pipedream",
                           "pipedream-2bw", "bpipe"}) {
    CHECK(catalogue_refusal(name, loop) ==
          fmt::format("rank 0 holds several stages; {} needs one per rank", name));
  }
}

TEST_CASE("rules that are defined for one replica of a stage refuse several") {
  const Placement placement =
      Placement::given(3, {{Rank{0}}, {Rank{1}, Rank{2}}}, {{Stage{0}, Stage{1}}});
  for (const char* name : {"1f1b", "eager-1f1b", "seq-1f1b", "zb-h1", "zb-h2", "interleaved-1f1b",
                           "interleaved-zb", "looped-bfs", "pipedream-2bw", "bpipe"}) {
    CHECK(catalogue_refusal(name, placement) ==
          fmt::format("stage 1 has 2 replicas; {} supports one", name));
  }
}

TEST_CASE("options that a rule does not take, or values that an option cannot have, are refused") {
  CHECK(catalogue_refusal("1f1b", {4, 1, 8}, {{"group", "4"}}) ==
        "unknown option \"group\"; 1f1b takes no options");
  CHECK(catalogue_refusal("gpipe", {4, 1, 8}, {{"group", "4"}}) ==
        "unknown option \"group\"; gpipe takes backward_order");
  CHECK(catalogue_refusal("hanayo", {4, 2, 8}, {{"slices", "4"}}) ==
        "unknown option \"slices\"; hanayo takes waves");
  for (const char* value :
       {"0", "-1", "+4", "4.0", "4 ", " 4", "two", "2x", "0x4", "99999999999", ""}) {
    CHECK(catalogue_refusal("seq-1f1b", {4, 1, 8}, {{"slices", value}}) ==
          fmt::format("slices is \"{}\": must be a positive whole number", value));
  }
  CHECK(catalogue_refusal("chimera", {4, 2, 8}, {{"remedy", "hope"}}) ==
        "remedy is \"hope\": must be one of none, forward-doubling, backward-halving");
}

TEST_CASE("orders beyond the limit are refused before they are made") {
  CHECK(catalogue_refusal("1f1b", {16384, 1, 16'777'216}) ==
        "16384 stages times 16777216 microbatches are too many: at most 100000000 actions");
}

TEST_CASE("what the catalogue says of chunks, copies and slices is what the rules make") {
  for (const ScheduleEntry* entry : schedule_entries()) {
    CAPTURE(entry->name);
    const ScheduleOptions options{8, {}};
    const std::uint32_t chunks = usual_chunks(*entry, options);
    CHECK(chunks == entry->default_chunks);
    const Placement placement = entry->place(4, chunks);
    CHECK(placement.stage_count() == 4 * chunks);
    CHECK(placement.chains().size() == entry->copies);
    for (const auto& chain : placement.chains()) {
      CHECK(chain.size() == placement.stage_count() / entry->copies);
    }
    const std::uint32_t slices = entry->slices_for == nullptr ? 1 : entry->slices_for(options);
    const Schedule schedule = make_schedule(*entry, placement, options);
    CHECK(MicrobatchColumns(schedule).count() == 8 * slices);
    CHECK(schedule.weights().use == entry->weights);
    CHECK(schedule.has(Pass::update) == (entry->weights != WeightUse::flushed));
  }
}

TEST_CASE("slices and halves of a microbatch are numbered as their rules say") {
  const auto count = [](std::string_view name, std::uint32_t chunks,
                        const CatalogueSettings& settings) {
    return MicrobatchColumns(system_of(name, {4, chunks, 8}, stage_of(1, 1), settings).schedule)
        .count();
  };
  const CatalogueSettings three{{"slices", "3"}}, halves{{"remedy", "backward-halving"}};
  CHECK(rule("seq-1f1b").slices_for({8, three}) == 3);
  CHECK(count("seq-1f1b", 1, three) == 24);
  CHECK(rule("chimera").slices_for({8, halves}) == 2);
  CHECK(count("chimera", 2, halves) == 16);
  CHECK(rule("chimera").slices_for({8, {{"remedy", "forward-doubling"}}}) == 1);
}

TEST_CASE("rules stand in the catalogue by name, once, each with its words") {
  std::string_view before;
  for (const ScheduleEntry* entry : schedule_entries()) {
    CAPTURE(entry->name);
    CHECK(before < entry->name);
    before = entry->name;
    for (const std::string_view words :
         {entry->summary, entry->needs, entry->bubble, entry->peak}) {
      CHECK_FALSE(words.empty());
    }
    for (const ScheduleOption& option : entry->options) CHECK_FALSE(option.summary.empty());
  }
}

}  // namespace penstock::testing
