#include <doctest/doctest.h>
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "experiments/measure/measured_runs/rank_ops.hpp"
#include "sim/base/error.hpp"

namespace penstock::testing {
namespace {

constexpr std::uint32_t main_thread = 0;
constexpr std::uint32_t other_thread = 1;

KinetoAnnotation annotation_from_to(std::int64_t begin_ns, std::int64_t end_ns) {
  return {{begin_ns, end_ns}, 0, main_thread, false};
}

/// A message of the main thread, from where it is issued to where it was waited for.
void add_message(KinetoTrace& trace, const std::string& name, std::int64_t begin_ns,
                 std::int64_t end_ns) {
  trace.annotations.push_back(
      {{begin_ns, end_ns}, static_cast<std::uint32_t>(trace.names.size()), main_thread, false});
  trace.names.push_back(name);
}

/// Names of operators: what an op does unless it says that it allocates.
constexpr std::uint32_t allocates = 1;
KinetoTrace traced() { return {.work_names = {"aten::mm", "aten::empty_strided"}}; }

}  // namespace

TEST_CASE("op spans: an op begins at its first operator, and what is ahead of it is its lead") {
  KinetoTrace trace = traced();
  trace.operators = {{{70, 80}, main_thread}, {{60, 95}, main_thread}, {{20, 30}, other_thread}};
  const std::vector<KinetoAnnotation> annotations{annotation_from_to(10, 100),
                                                  annotation_from_to(130, 150)};
  const auto spans = spans_of_operators(trace, annotations);
  REQUIRE(spans.size() == 2);
  CHECK(spans[0]->whole == KinetoSpan{60, 100});
  CHECK(spans[0]->lead_ns == 50);
  CHECK(spans[0]->host_ns == 0);
  // The second one does nothing: it has no length, and the host took 30 ns to get there.
  CHECK(spans[1]->whole == KinetoSpan{150, 150});
  CHECK(spans[1]->host_ns == 30);
  CHECK(spans[1]->lead_ns == 0);
}

TEST_CASE("op spans: an op begins behind what it receives, whatever is allocated for that") {
  KinetoTrace trace = traced();
  trace.operators = {{{12, 14}, main_thread, false, allocates}, {{60, 95}, main_thread, true}};
  add_message(trace, "gloo:recv", 15, 55);
  const auto spans = spans_of_operators(trace, {annotation_from_to(10, 100)});
  REQUIRE(spans.size() == 1);
  CHECK(spans[0]->whole == KinetoSpan{60, 100});
  CHECK(spans[0]->lead_ns == 50);
}

TEST_CASE("op spans: what another op receives meanwhile is no reason to begin late") {
  KinetoTrace trace = traced();
  trace.operators = {
      {{12, 30}, main_thread}, {{31, 32}, main_thread, false, allocates}, {{60, 90}, main_thread}};
  add_message(trace, "gloo:recv", 33, 55);
  CHECK(spans_of_operators(trace, {annotation_from_to(10, 100)})[0]->whole == KinetoSpan{12, 100});
}

TEST_CASE("op spans: waits for messages that end between annotations are no time of the host") {
  KinetoTrace trace = traced();
  trace.operators = {{{10, 40}, main_thread}, {{100, 140}, main_thread}};
  add_message(trace, "gloo:recv", 45, 90);
  add_message(trace, "gloo:recv", 92, 130);  // of a later op: nothing waits for it here
  add_message(trace, "gloo:send", 91, 99);   // a simulated host waits for no send
  const auto spans =
      spans_of_operators(trace, {annotation_from_to(10, 40), annotation_from_to(100, 140)});
  REQUIRE(spans.size() == 2);
  CHECK(spans[1]->host_ns == 15);  // 60 ns of which 45, from 45 to 90, wait
}

TEST_CASE("op spans: of two marks of an op, the inner one with its stage counts") {
  KinetoTrace trace{.annotations = {{{10, 60}, 0, main_thread},
                                    {{30, 50}, 1, main_thread},
                                    {{70, 90}, 2, main_thread}},
                    .names = {"Forward 0", "PP:3F0", "Backward 0"}};
  std::vector<OpPattern> patterns;
  for (const KnownPattern& known : known_patterns()) patterns.emplace_back(known.text);
  const RankOps ops = ops_of_annotations(trace, patterns, Stage{0});
  REQUIRE(ops.ops.size() == 2);
  CHECK(ops.ops[0].action.stage == Stage{3});
  CHECK(ops.ops[0].span == KinetoSpan{30, 50});
  CHECK(ops.ops[1].action.pass == Pass::backward);
  trace.names[1] = "PP:3F1";
  CHECK_THROWS_AS(ops_of_annotations(trace, patterns, Stage{0}), InputError);
}

TEST_CASE("op spans: operators that most annotations lack were not traced") {
  KinetoTrace trace = traced();
  trace.operators = {{{20, 30}, main_thread}};
  const std::vector<KinetoAnnotation> annotations{
      annotation_from_to(10, 40), annotation_from_to(50, 60), annotation_from_to(70, 80)};
  CHECK(spans_of_operators(trace, annotations).empty());
}

TEST_CASE("op spans: autograd's operators part an overlap cell") {
  KinetoTrace trace = traced();
  trace.operators = {{{20, 30}, main_thread, false},
                     {{50, 90}, main_thread, true},
                     {{55, 60}, main_thread, false}};  // inside of a backward: no new part
  const auto spans = spans_of_operators(trace, {annotation_from_to(10, 100)});
  REQUIRE(spans.size() == 1);
  CHECK(spans[0]->of_part(0, 2) == KinetoSpan{20, 50});
  CHECK(spans[0]->of_part(1, 2) == KinetoSpan{50, 100});
}

TEST_CASE("op spans: another thread launches the backward of an overlap cell") {
  KinetoTrace trace{.works = {{{100, 140}, 1, 7}, {{140, 200}, 2, 7}},
                    .launches = {{20, 1, main_thread}, {40, 2, other_thread}}};
  const auto spans = spans_of_works(trace, {annotation_from_to(10, 60)});
  REQUIRE(spans.front().has_value());
  CHECK(spans.front()->of_part(0, 1) == KinetoSpan{100, 200});
  CHECK(spans.front()->of_part(0, 2) == KinetoSpan{100, 140});
  CHECK(spans.front()->of_part(1, 2) == KinetoSpan{140, 200});
}

// As PyTorch runs both parts in turn, the backward after a wait for its gradient.
TEST_CASE("op spans: the second part of an overlap cell begins at its own first kernel") {
  KinetoTrace trace{.works = {{{100, 140}, 1, 7}, {{170, 200}, 2, 7}},
                    .launches = {{20, 1, main_thread}, {40, 2, other_thread}}};
  const auto spans = spans_of_works(trace, {annotation_from_to(10, 60)});
  REQUIRE(spans.front().has_value());
  CHECK(spans.front()->of_part(0, 2) == KinetoSpan{100, 140});
  CHECK(spans.front()->of_part(1, 2) == KinetoSpan{170, 200});
}

TEST_CASE(
    "op spans: a copy on a stream without kernels, such as an offload, is no time of its op") {
  KinetoTrace trace{.works = {{{100, 140}, 1, 7},
                              {{140, 145}, 2, 7, KinetoWorkKind::copy},
                              {{120, 900}, 3, 30, KinetoWorkKind::copy}},
                    .launches = {{20, 1, main_thread}, {30, 2, main_thread}, {40, 3, main_thread}}};
  const auto spans = spans_of_works(trace, {annotation_from_to(10, 60)});
  REQUIRE(spans.front().has_value());
  CHECK(spans.front()->whole == KinetoSpan{100, 145});
}

/// A trace of a device with an annotation and its launch every 10 ns, and the works of some.
RankOps launched_ops(const std::vector<std::string>& names,
                     const std::vector<std::optional<KinetoSpan>>& works) {
  KinetoTrace trace{.names = names};
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    trace.annotations.push_back({{i * 10, i * 10 + 9}, i, main_thread});
    if (!works[i]) continue;
    trace.launches.push_back({i * 10 + 1, i + 1, main_thread});
    trace.works.push_back({*works[i], i + 1, 7 + i % 2});
  }
  return ops_of_annotations(trace, {OpPattern("PP:{stage}{pass}{microbatch}")}, Stage{0});
}

std::string ops_text(const RankOps& ops) {
  std::string all;
  for (const MeasuredOp& op : ops.ops) {
    all += fmt::format("{} {}-{} ", text(op.action), op.span.begin_ns, op.span.end_ns);
  }
  return all;
}

// PyTorch's I of the first stage skips the gradient of its input. F1 is one whose kernels were
// lost.
TEST_CASE("op spans: an op that launches nothing in the whole trace has no length") {
  CHECK(ops_text(launched_ops({"PP:0F0", "PP:0F1", "PP:0I0", "PP:0F2", "PP:0W0"},
                              {{{100, 200}}, {}, {}, {{250, 300}}, {{300, 400}}})) ==
        "0F0 100-200 0I0 250-250 0F2 250-300 0W0 300-400 ");
  CHECK(ops_text(launched_ops({"PP:0F0", "PP:0B0", "PP:0W0", "PP:0F1", "PP:0W1"},
                              {{{100, 200}}, {{210, 220}}, {}, {{250, 300}}, {}})) ==
        "0F0 100-200 0B0 210-220 0W0 220-220 0F1 250-300 0W1 300-300 ");
}

TEST_CASE(
    "op spans: kernels on another stream that outlast the next op's begin do not overlap it") {
  const RankOps ops =
      launched_ops({"PP:0F0", "PP:0F1", "PP:0F2"}, {{{100, 260}}, {{200, 300}}, {{300, 450}}});
  CHECK(ops_text(ops) == "0F0 100-200 0F1 200-300 0F2 300-450 ");
  CHECK(ops.overlap_ns == 60);
}

TEST_CASE("op spans: names count once, however many streams of the device repeat them") {
  KinetoTrace trace{.annotations = {{{0, 9}, 0, main_thread},
                                    {{20, 30}, 0, 7, true},
                                    {{20, 31}, 0, 8, true},
                                    {{20, 31}, 1, 8, true}},
                    .names = {"PP:0F0", "on the device"}};
  const NameUse use = name_use(trace, {OpPattern("PP:{stage}{pass}{microbatch}")});
  CHECK(use.matched == std::vector<NameCount>{{"PP:0F0", 1}});
  CHECK(use.unmatched == std::vector<NameCount>{{"on the device", 1}});
}

/// Annotations side by side, each with many works, launched from two threads; in no order.
struct ManyWorks {
  ManyWorks() {
    constexpr std::int64_t count = 200'000;
    for (std::int64_t i = 0; i < 100; ++i) {
      annotations.push_back(annotation_from_to(i * 10'000, i * 10'000 + 9'000));
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t mixed = i * 77'773 % count;
      const auto correlation = static_cast<std::uint64_t>(mixed + 1);
      const std::int64_t at = mixed * 5;
      trace.works.push_back({{at + 3'000'000, at + 3'000'007}, correlation, 1});
      trace.launches.push_back({at, correlation, mixed % 3 == 0 ? other_thread : main_thread});
      trace.operators.push_back({{at, at + mixed % 5}, main_thread, mixed % 2000 > 1500});
    }
  }
  KinetoTrace trace = traced();
  std::vector<KinetoAnnotation> annotations;
};

TEST_CASE("op spans: works and operators that lie on disk give what those in memory give") {
  const ManyWorks many;
  REQUIRE(many.trace.works.blocks() > 2);
  const auto of_works = spans_of_works(many.trace, many.annotations);
  const auto of_operators = spans_of_operators(many.trace, many.annotations);
  REQUIRE(of_works.size() == 100);
  REQUIRE(of_operators.size() == 100);
  for (std::size_t i = 0; i < 100; ++i) {
    const auto begin = static_cast<std::int64_t>(i) * 10'000;
    REQUIRE(of_works[i]);
    CHECK(of_works[i]->whole == KinetoSpan{begin + 3'000'000, begin + 3'009'007});
    REQUIRE(of_operators[i]);
    CHECK(of_operators[i]->lead_ns == 0);
    CHECK(of_operators[i]->turn_ns == begin + 7'505);
  }
}

}  // namespace penstock::testing
