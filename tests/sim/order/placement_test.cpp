#include "sim/order/placement.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"

namespace penstock::testing {
namespace {

/// The rank of each stage: "0 1 0 1".
std::string ranks_text(const Placement& placement) {
  std::string text;
  for (Stage stage : placement.stages()) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", index(placement.rank_of(stage)));
  }
  return text;
}

/// Why a placement is refused, or "accepted".
std::string refusal(std::uint32_t ranks, const std::vector<std::vector<Rank>>& on,
                    const std::vector<std::vector<Stage>>& chains) {
  return refused_with<InputError>([&] { Placement::given(ranks, on, chains); });
}

}  // namespace

TEST_CASE("loop puts stage s on rank s mod p, all in one chain") {
  CHECK(ranks_text(Placement::loop(3, 1)) == "0 1 2");
  CHECK(ranks_text(Placement::loop(3, 2)) == "0 1 2 0 1 2");
  CHECK(ranks_text(Placement::loop(1, 3)) == "0 0 0");
  CHECK(Placement::loop(3, 2).chains().size() == 1);
  CHECK(Placement::loop(3, 2).chains().front().size() == 6);
}

TEST_CASE("vee snakes over the ranks, each turn on one of them") {
  CHECK(ranks_text(Placement::vee(3, 2)) == "0 1 2 2 1 0");
  CHECK(ranks_text(Placement::vee(2, 4)) == "0 1 1 0 0 1 1 0");
  CHECK(ranks_text(Placement::vee(2, 3)) == "0 1 1 0 0 1");
  CHECK(ranks_text(Placement::vee(1, 2)) == "0 0");
}

TEST_CASE("bidirectional lays two chains over the ranks in opposite directions") {
  const Placement placement = Placement::bidirectional(3);
  CHECK(ranks_text(placement) == "0 1 2 2 1 0");
  REQUIRE(placement.chains().size() == 2);
  CHECK(placement.chain_of(Stage{2}) == 0);
  CHECK(placement.chain_of(Stage{3}) == 1);
  CHECK(placement.position(Stage{4}) == 1);
  // The chains do not touch: stage 2 is the last of its copy, stage 3 the first of the other.
  CHECK(placement.after(Stage{2}) == std::nullopt);
  CHECK(placement.before(Stage{3}) == std::nullopt);
  CHECK(placement.after(Stage{3}) == Stage{4});
}

TEST_CASE("activations go along the chain, whatever the stages are called") {
  // One chain 2, 0, 1 on ranks 1, 0, 0.
  const Placement placement =
      Placement::given(2, {{Rank{0}}, {Rank{0}}, {Rank{1}}}, {{Stage{2}, Stage{0}, Stage{1}}});
  CHECK(placement.before(Stage{2}) == std::nullopt);
  CHECK(placement.after(Stage{2}) == Stage{0});
  CHECK(placement.before(Stage{1}) == Stage{0});
  CHECK(placement.after(Stage{1}) == std::nullopt);
  CHECK(placement.position(Stage{1}) == 2);
  CHECK(placement.stages_of(Rank{0}) == std::vector{Stage{0}, Stage{1}});
  CHECK(placement.stages_of(Rank{1}) == std::vector{Stage{2}});
}

TEST_CASE("replicas of a stage take the microbatches in turn") {
  const Placement placement =
      Placement::given(3, {{Rank{0}}, {Rank{2}, Rank{1}}}, {{Stage{0}, Stage{1}}});
  CHECK(placement.replicas(Stage{0}) == 1);
  CHECK(placement.replicas(Stage{1}) == 2);
  CHECK(placement.slots() == 3);
  CHECK(placement.rank_of(Stage{0}, Microbatch{5}) == Rank{0});
  CHECK(placement.rank_of(Stage{1}, Microbatch{4}) == Rank{2});
  CHECK(placement.rank_of(Stage{1}, Microbatch{5}) == Rank{1});
  CHECK(placement.stages_of(Rank{1}) == std::vector{Stage{1}});
  CHECK(placement.stages_of(Rank{2}) == std::vector{Stage{1}});
}

TEST_CASE("a placement that does not hold together is refused with the reason") {
  const std::vector<std::vector<Rank>> two{{Rank{0}}, {Rank{1}}};
  const Stage a{0}, b{1}, c{2};
  CHECK(refusal(2, two, {{a, b}}) == "accepted");
  CHECK(refusal(2, two, {{a}, {b}}) == "accepted");
  CHECK(refusal(1, two, {{a, b}}) == "stage 1 is on rank 1; ranks are 0 to 0");
  CHECK(refusal(2, {{Rank{0}}, {}}, {{a, b}}) == "stage 1 has no rank");
  CHECK(refusal(2, two, {{a, b, c}}) == "chain 0 names stage 2; stages are 0 to 1");
  CHECK(refusal(2, two, {{a, b}, {b}}) ==
        "stage 1 occurs twice in the chains; each stage belongs to one");
  CHECK(refusal(2, two, {{a, a}}) ==
        "stage 0 occurs twice in the chains; each stage belongs to one");
  CHECK(refusal(2, two, {{b}}) == "stage 0 is in no chain; each stage belongs to one");
}

}  // namespace penstock::testing
