#include "experiments/measure/measured_runs/op_pattern.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

/// "1F2" for what a name says, with "-" for what it leaves open; "" when the pattern does not fit.
std::string read(const char* pattern, std::string_view name) {
  const auto op = OpPattern(pattern).match(name);
  if (!op) return "";
  return fmt::format("{}{}{}", op->stage ? fmt::format("{}", index(*op->stage)) : "-",
                     letters(op->pass),
                     op->microbatch ? fmt::format("{}", index(*op->microbatch)) : "-");
}

std::string pattern_refusal(const std::string& pattern) {
  return refused_with<UsageError>([&] { OpPattern{pattern}; });
}

}  // namespace

TEST_CASE("op patterns: names of PyTorch's pipelining are ops, its messages are not") {
  const char* const of_runtime = "PP:{stage}{pass}{microbatch}";
  CHECK(read(of_runtime, "PP:0F3") == "0F3");
  CHECK(read(of_runtime, "PP:12B31") == "12B31");
  CHECK(read(of_runtime, "PP:1I0") == "1I0");
  CHECK(read(of_runtime, "PP:1W0") == "1W0");
  for (const char* name : {"PP:0SEND_F3", "PP:1RECV_B0", "PP:1UNSHARD", "PP:0F", "PP:F0", "xPP:0F3",
                           "PP:0F3x", "PP:(0F1;1B0)OVERLAP_F_B", ""}) {
    CAPTURE(name);
    CHECK(read(of_runtime, name).empty());
  }
  CHECK(read("{pass} {microbatch}", "Forward 0") == "-F0");
  CHECK(read("{pass} {microbatch}", "Backward 7") == "-B7");
}

TEST_CASE("op patterns: words for passes stand in any case, the longest one counts") {
  const char* const pattern = "{pass}";
  CHECK(read(pattern, "FORWARD") == "-F-");
  CHECK(read(pattern, "fwd") == "-F-");
  CHECK(read(pattern, "bwd") == "-B-");
  CHECK(read(pattern, "Backward_Input") == "-I-");
  CHECK(read(pattern, "backward_weight") == "-W-");
  CHECK(read(pattern, "full_backward") == "-B-");
  CHECK(read(pattern, "forwards").empty());
}

TEST_CASE("op patterns: a star is any text, also none, wherever it stands") {
  CHECK(read("*{pass}_mb{microbatch}", "stage1_F_mb4") == "-F4");
  CHECK(read("pp.{pass}.stage{stage}.*", "pp.B.stage2.mb9") == "2B-");
  CHECK(read("*mb{microbatch} {pass}*", "mb mb mb17 fwd") == "-F17");
  CHECK(read("*mb{microbatch} {pass}*", "mb17 fwd of rank 3") == "-F17");
  CHECK(read("{pass}*x*y", "F-x-x-y-y") == "-F-");
  CHECK(read("{pass}*x*y", "F-y-x").empty());
}

TEST_CASE("op patterns: numbers of ten digits and more are none") {
  CHECK(read("{pass}{microbatch}", "F999999999") == "-F999999999");
  CHECK(read("{pass}{microbatch}", "F1000000000").empty());
  CHECK(read("{pass}{microbatch}", "F-1").empty());
}

TEST_CASE("op patterns: names made to be slow are read in time with their length") {
  std::string stars;
  for (int i = 0; i < 60; ++i) stars += "*a";
  const OpPattern pattern(stars + "{pass}");
  CHECK_FALSE(pattern.match(std::string(250, 'a') + "!").has_value());
}

TEST_CASE("op patterns: what cannot be a pattern is refused with what would be right") {
  CHECK(pattern_refusal("{stage}") ==
        "--pattern \"{stage}\": {pass} is missing; it stands for F, backward and the like");
  CHECK(pattern_refusal("{pass}{pass}") == "--pattern \"{pass}{pass}\": {pass} occurs twice");
  CHECK(pattern_refusal("{pass}{rank}") ==
        "--pattern \"{pass}{rank}\": in braces stand stage, pass or microbatch");
  CHECK(pattern_refusal("{pass") ==
        "--pattern \"{pass\": in braces stand stage, pass or microbatch");
  CHECK(says(pattern_refusal(std::string(300, 'x')), "more than 256 bytes"));
}

TEST_CASE("both parts of an overlap cell are ops") {
  const OpPattern pattern("PP:{stage}{pass}{microbatch}");
  const auto parts = [&](std::string_view name) {
    std::string text;
    for (const OpName& op : ops_of_name(pattern, name)) {
      text += fmt::format("{}{}{} ", index(*op.stage), letters(op.pass), index(*op.microbatch));
    }
    return text;
  };
  CHECK(parts("PP:(0F3;3B1)OVERLAP_F_B") == "0F3 3B1 ");
  CHECK(parts("PP:2I5") == "2I5 ");
  CHECK(parts("PP:(0F3)OVERLAP_F_B").empty());
  CHECK(parts("PP:(0F3;hello)OVERLAP_F_B").empty());
  CHECK(parts("PP:1SEND_F0").empty());
}

}  // namespace penstock::testing
