#include "validate/store/validity.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "tests/support/profile_rows.hpp"
#include "validate/store/environment_keys.hpp"
#include "validate/store/layer_point.hpp"
#include "validate/store/row_content.hpp"

namespace penstock::testing {
namespace {

/// Twelve days after the rows were measured, on the same machine, with the same kernels.
Today same_machine() {
  return {
      .environment = gemm_row(1, {}).environment, .build = "b1", .date = "2026-11-12T12:00:00Z"};
}

/// Rows that nothing speaks against: products of some sizes, n^3 ns each.
std::vector<StoredRow> validity_rows_of(const std::vector<int>& sizes) {
  std::vector<StoredRow> rows;
  for (const int size : sizes) {
    const double ns = std::pow(size, 3);
    rows.push_back({.id = RowId{std::ssize(rows) + 1},
                    .row = gemm_row(size, std::vector<double>(10, ns)),
                    .environment = 1,
                    .schema = 1});
  }
  return rows;
}

std::string text_of(const RowJudgement& judgement) {
  return fmt::format("{} {}: {}", name(judgement.state), judgement.score,
                     fmt::join(judgement.reasons, "; "));
}

/// What is thought of a row after a change to it or to today.
template <class Change>
std::string after(Change change) {
  std::vector<StoredRow> rows = validity_rows_of({64});
  Today today = same_machine();
  change(rows.front(), today);
  return text_of(judge(rows, today).front());
}

}  // namespace

TEST_CASE("validity: a row that nothing speaks against is valid") {
  CHECK(after([](StoredRow&, Today&) {}) == "valid 0: ");
}

TEST_CASE("validity: what is determined invalid is retired, each for its reason") {
  CHECK(after([](StoredRow& row, Today&) { row.schema = 0; }) ==
        "retired 0: it was written in version 0 of the schema, this is 1");
  CHECK(after([](StoredRow& row, Today&) {
          row.row.samples_ns = {1, 1, 1, 1};
        }) == "retired 0: it has fewer than 5 samples: 4");
  // The median is 100; three of the five are 12 off it, so half of all are at least that.
  CHECK(after([](StoredRow& row, Today&) {
          row.row.samples_ns = {88, 88, 100, 112, 100};
        }) == "retired 0: its samples are 12.0 % from their median, more than 10.0 %");
  CHECK(after([](StoredRow& row, Today&) {
          row.row.samples_ns = {90, 90, 100, 110, 100};
        }) == "valid 0: ");
  CHECK(after([](StoredRow&, Today& today) { today.build = "b2"; }) ==
        "retired 0: the kernels, or the flags that they are built with, have changed");
  CHECK(after([](StoredRow&, Today& today) { today.environment["cores"] = "4"; }) ==
        "retired 0: cores was \"2\" and is \"4\"");
  CHECK(after([](StoredRow& row, Today& today) {
          row.row.environment["nccl"] = "2.28.9";
          today.environment["nccl"] = "2.30.1";
        }) == "retired 0: nccl was \"2.28.9\" and is \"2.30.1\"");
}

// 1 us, give or take 0.15 us, then 0.3 us: 1.5 % of the shortest action. Passes of 10 us have no
// such excuse, and neither has what is no part of an action.
TEST_CASE("validity: a short pass of a layer may vary by what no action shows") {
  const auto judged = [](const char* pass, double ns, double off_ns) {
    return after([&](StoredRow& row, Today&) {
      row.row.point.pass = pass;
      row.row.samples_ns = {ns - off_ns, ns - off_ns, ns, ns, ns + off_ns, ns + off_ns};
    });
  };
  CHECK(judged("forward", 1000, 150) == "valid 0: ");
  CHECK(judged("forward", 1000, 300) ==
        "retired 0: its samples are 30.0 % from their median, more than 10.0 %");
  CHECK(judged("forward", 10'000, 1500) ==
        "retired 0: its samples are 15.0 % from their median, more than 10.0 %");
  CHECK(judged("", 1000, 150) ==
        "retired 0: its samples are 15.0 % from their median, more than 10.0 %");
}

// 2 us, give or take 0.6: of 200 samples the median is known within 0.1 us. Where it could be
// either of two lengths it is not, and of a kernel that is no pass the scatter counts.
TEST_CASE("validity: samples of a pass may vary where their median is known") {
  const auto judged = [](const char* pass, auto length_ns) {
    return after([&](StoredRow& row, Today&) {
      row.row.point.pass = pass;
      row.row.samples_ns.clear();
      for (int i = 0; i < 200; ++i) row.row.samples_ns.push_back(length_ns(i));
    });
  };
  const auto even = [](int i) { return 1400.0 + 6 * i; };
  CHECK(judged("forward", even) == "valid 0: ");
  CHECK(judged("", even).starts_with("retired 0: its samples are 15"));
  CHECK(judged("forward", [](int i) {
          return i < 100 ? 1000.0 : 1600.0;
        }).starts_with("retired 0: its samples are 23"));
}

TEST_CASE("validity: what is predicted invalid adds up, and from one on the row is suspect") {
  CHECK(after([](StoredRow& row, Today& today) {
          row.row.environment["driver"] = "580.159.03";
          today.environment["driver"] = "580.159.04";
        }) == "suspect 1: driver was \"580.159.03\" and is \"580.159.04\"");
  CHECK(after([](StoredRow&, Today& today) { today.date = "2026-12-02T12:00:00Z"; }) ==
        "suspect 1: it is 32 days old");
  CHECK(after([](StoredRow&, Today& today) { today.date = "2026-11-30T12:00:00Z"; }) ==
        "valid 0: ");
  CHECK(after([](StoredRow&, Today& today) { today.environment["os"] = "Linux 6.2"; }) ==
        "valid 0.5: os was \"Linux 6.1\" and is \"Linux 6.2\"");
  CHECK(after([](StoredRow&, Today& today) {
          today.environment["os"] = "Linux 6.2";
          today.date = "2026-12-02T12:00:00Z";
        }) == "suspect 1.5: os was \"Linux 6.1\" and is \"Linux 6.2\"; it is 32 days old");
  CHECK(after([](StoredRow&, Today& today) { today.date = "2026-10-01T12:00:00Z"; }) ==
        "suspect 1: it was measured at 2026-10-31T12:00:00Z, which is yet to come");
}

TEST_CASE("validity: what the store says is never made better, and the retired stay retired") {
  CHECK(after([](StoredRow& row, Today&) { row.state = RowState::suspect; }) == "suspect 0: ");
  CHECK(after([](StoredRow& row, Today& today) {
          row.state = RowState::retired;
          today.build = "b2";
        }) == "retired 0: ");
}

TEST_CASE("validity: of another model of computer, today says nothing") {
  std::vector<StoredRow> rows = validity_rows_of({64});
  rows[0].row.environment["cpu"] = "other";
  rows[0].row.environment["cores"] = "96";
  Today today = same_machine();
  today.build = "b2";
  const RowJudgement judgement = judge(rows, today).front();
  CHECK(judgement.elsewhere);
  CHECK(text_of(judgement) == "valid 0: ");
  today.date = "2026-12-02T12:00:00Z";
  CHECK(text_of(judge(rows, today).front()) == "suspect 1: it is 32 days old");
}

TEST_CASE(
    "validity: a canary off its environment's median is determined, one that drifts since is "
    "predicted") {
  // Canaries 1000, 1000, 1000, 1100 and, measured last, 1040, an hour or a day apart. The median is
  // 1000: the fourth is 10 % off. The last is 4 % above the first three, and 5.5 % below the
  // fourth.
  std::vector<StoredRow> rows = validity_rows_of({16, 20, 24, 28, 32});
  for (std::size_t i = 0; i < 4; ++i) {
    rows[i].row.measured_at = fmt::format("2026-10-31T1{}:00:00Z", i);
  }
  rows[3].row.canary_ns = 1100;
  rows[4].row.canary_ns = 1040;
  rows[4].row.measured_at = "2026-11-02T12:00:00Z";
  const auto judgements = judge(rows, same_machine());
  CHECK(text_of(judgements[0]) == "suspect 1: the canary has drifted by 4.0 % since");
  CHECK(text_of(judgements[3]) ==
        "retired 1: its canary was 10.0 % off the median of its environment; the canary has "
        "drifted by 5.5 % since");
  CHECK(text_of(judgements[4]) == "valid 0: ");
  rows[4].row.canary_ns = 1020;
  rows[3].row.canary_ns = 0;  // unknown
  for (const RowJudgement& judgement : judge(rows, same_machine())) {
    CHECK(judgement.state == RowState::valid);
  }
}

// 1120 is 5.7 % above the middle of both and 12 % above the other: one of them is off, and nobody
// knows which. The later one is what this machine does now.
TEST_CASE("validity: with two canaries the older is predicted, with three the odd one determined") {
  std::vector<StoredRow> rows = validity_rows_of({16, 20});
  rows[0].row.canary_ns = 1120;
  rows[0].row.measured_at = "2026-11-02T10:00:00Z";
  rows[1].row.measured_at = "2026-11-03T10:00:00Z";
  auto judgements = judge(rows, same_machine());
  CHECK(text_of(judgements[0]) == "suspect 1: the canary has drifted by 10.7 % since");
  CHECK(text_of(judgements[1]) == "valid 0: ");
  rows.push_back(validity_rows_of({16, 20, 24}).back());
  rows[2].row.measured_at = "2026-11-04T10:00:00Z";
  judgements = judge(rows, same_machine());
  CHECK(judgements[0].state == RowState::retired);
  CHECK(judgements[0].faults.front() == "its canary was 12.0 % off the median of its environment");
  CHECK(judgements[1].state == RowState::valid);
  CHECK(judgements[2].state == RowState::valid);
}

TEST_CASE("validity: canaries count once for each time they were taken, and not of retired rows") {
  // A sweep of six rows at 1000 ns, then two rows at 1200 ns on days of their own. Of the three
  // canaries the median is 1200: it is the old sweep that is off, by 16.7 %.
  std::vector<StoredRow> rows = validity_rows_of({16, 20, 24, 28, 32, 40, 48, 64});
  for (const std::size_t i : {6U, 7U}) {
    rows[i].row.canary_ns = 1200;
    rows[i].row.measured_at = fmt::format("2026-11-0{}T12:00:00Z", i);
  }
  const auto& environment = rows[0].row.environment;
  CHECK(usual_canary(rows, environment) == 1200);
  auto judgements = judge(rows, same_machine());
  REQUIRE(judgements[0].faults.size() == 1);
  CHECK(judgements[0].faults[0] == "its canary was 16.7 % off the median of its environment");
  CHECK(judgements[7].faults.empty());
  // With the last two retired, the sweep is all that counts.
  rows[6].state = rows[7].state = RowState::retired;
  CHECK(usual_canary(rows, environment) == 1000);
  judgements = judge(rows, same_machine());
  CHECK(judgements[0].faults.empty());
  CHECK(judgements[0].score == 0);
  CHECK(usual_canary(rows, {{"cpu", "another"}}) == 0);
}

TEST_CASE("validity: with both of the nearest shapes retired, a row is suspect") {
  // 16 and 32 are retired; 24 lies between them; 64 and 96 have one of them or none near.
  std::vector<StoredRow> rows = validity_rows_of({16, 24, 32, 64, 96});
  rows[0].state = rows[2].state = RowState::retired;
  const auto judgements = judge(rows, same_machine());
  CHECK(text_of(judgements[1]) == "suspect 1: 2 of the two nearest shapes were retired");
  CHECK(text_of(judgements[3]) == "valid 0.5: 1 of the two nearest shapes was retired");
  // A shape that was measured anew speaks against none.
  rows.push_back(rows[2]);
  rows.back().id = RowId{6};
  rows.back().state = RowState::valid;
  CHECK(text_of(judge(rows, same_machine())[1]) ==
        "valid 0.5: 1 of the two nearest shapes was retired");
}

TEST_CASE("validity: a row off the curve through the others is suspect, and they are not") {
  // n^3 is a straight line over the logarithms; the row of 48 takes a quarter longer.
  std::vector<StoredRow> rows = validity_rows_of({16, 24, 32, 40, 48, 64, 96, 128, 192, 256});
  rows[4].row.samples_ns.assign(10, 1.25 * std::pow(48, 3));
  const auto judgements = judge(rows, same_machine());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    CHECK(judgements[i].state == (i == 4 ? RowState::suspect : RowState::valid));
  }
  CHECK(judgements[4].reasons.at(0).ends_with("off the curve through the other shapes"));
}

TEST_CASE("validity: a newer valid row of the same point supersedes an older one") {
  // Row 2 repeats row 1; row 3 is row 1 as taken over after a patch of the driver, to today's.
  std::vector<StoredRow> rows = validity_rows_of({64, 64, 64});
  rows[1].row.measured_at = "2026-11-01T00:00:00Z";
  CHECK(judge(rows, same_machine())[0].superseded_by == RowId{2});
  CHECK(!judge(rows, same_machine())[1].superseded_by);
  for (StoredRow& row : rows) row.row.environment["driver"] = "1.2.3";
  rows[2].row.environment["driver"] = "1.2.4";
  rows[2].row.measured_at = rows[1].row.measured_at;
  Today today = same_machine();
  today.environment["driver"] = "1.2.4";
  auto judgements = judge(rows, today);
  CHECK(judgements[0].superseded_by == RowId{3});
  CHECK(judgements[1].superseded_by == RowId{3});
  CHECK(!judgements[2].superseded_by);
  today.environment["driver"] = "1.2.3";  // back again
  judgements = judge(rows, today);
  CHECK(!judgements[1].superseded_by);
  rows[1].state = RowState::suspect;
  CHECK(judge(rows, today)[0].superseded_by == std::nullopt);
}

TEST_CASE("validity: a newer row with a fault supersedes no other") {
  std::vector<StoredRow> rows = validity_rows_of({64, 64, 64});
  rows[1].row.measured_at = "2026-11-01T00:00:00Z";
  rows[2].row.measured_at = "2026-11-02T00:00:00Z";
  rows[2].row.samples_ns = {1, 1, 1, 1};  // too few
  const auto judgements = judge(rows, same_machine());
  CHECK(judgements[0].superseded_by == RowId{2});
  CHECK(!judgements[1].superseded_by);
  CHECK(judgements[1].state == RowState::valid);
  CHECK(judgements[2].state == RowState::retired);
}

TEST_CASE("shape curve: residuals count the spread of the others, and few points tell nothing") {
  // ln t = 3 ln n, and t of the fourth 10 % above: the others lie on the curve, their spread counts
  // as 1 %. With leverage h the residual is ln 1.1 * sqrt(1 - h) / 0.01, below 9.53.
  std::vector<ShapeTime> times;
  for (const double n : {8, 16, 32, 64, 128, 256, 512, 1024}) {
    times.push_back({{{"n", n}}, std::pow(n, 3)});
  }
  times[3].ns *= 1.1;
  const std::vector<double> residuals = curve_residuals(times);
  CHECK(residuals[3] > 8);
  CHECK(residuals[3] < std::log(1.1) / 0.01);
  for (const std::size_t i : {0U, 1U, 5U, 7U}) CHECK(residuals[i] < 3);
  times.resize(7);  // 7 points, 2 constants
  CHECK(curve_residuals(times) == std::vector<double>(7, 0));
  CHECK(curve_residuals({}).empty());
  times.assign(20, {{}, 0});
  CHECK(curve_residuals(times) == std::vector<double>(20, 0));
}

TEST_CASE("shape curve: sizes that are the same everywhere, or go together, do no harm") {
  std::vector<ShapeTime> times;
  for (const double n : {8, 16, 32, 64, 128, 256, 512, 1024, 2048}) {
    times.push_back({{{"k", 4}, {"m", 2 * n}, {"n", n}, {"zero", 0}}, 7 * n});
  }
  for (const double residual : curve_residuals(times)) CHECK(residual < 1e-6);
}

TEST_CASE("layer point: a pass of a layer as a point and back, with examples or with tokens") {
  const LayerPoint attention{.kind = "attention",
                             .pass = "backward_input",
                             .numbers = {{"heads", 2}, {"hidden", 8}},
                             .amount = 3,
                             .sequence = 16};
  const KernelPoint point = kernel_point(attention);
  CHECK(point.shape == "examples=3 heads=2 hidden=8 sequence=16");
  const auto back = layer_point(point);
  REQUIRE(back);
  CHECK(back->numbers == attention.numbers);
  CHECK(back->amount == 3);
  CHECK(back->sequence == 16.0);
  CHECK(!back->counts_tokens);
  const auto tokens = layer_point({"mlp", "forward", "hidden=8 intermediate=32 tokens=64", "solo"});
  REQUIRE(tokens);
  CHECK(tokens->counts_tokens);
  CHECK(tokens->amount == 64);
  for (const char* shape :
       {"hidden=8", "hidden=8 tokens=1 examples=1", "tokens=x", "tokens=1 tokens=1", "tokens=-1",
        "=1", "tokens", "examples=nan", "examples=1e999"}) {
    CAPTURE(shape);
    CHECK(!layer_point({"mlp", "forward", shape, "solo"}));
  }
  CHECK(!layer_point({"gemm", "", "k=1 m=1 n=1 tokens=1", "solo"}));
}

TEST_CASE("environments: what counts makes two the same, what is recorded does not") {
  const std::map<std::string, std::string> one{{"device", "H200"}, {"uuid", "1"}, {"cc", "9.0"}};
  auto other = one;
  other["uuid"] = "2";
  other["colour"] = "grey";
  CHECK(identity_of(one) == identity_of(other));
  CHECK(environment_differences(one, other).empty());
  other["cc"] = "9.1";
  CHECK(identity_of(one) != identity_of(other));
  REQUIRE(environment_differences(one, other).size() == 1);
  CHECK(environment_differences(one, other)[0].role == KeyRole::part);
  CHECK(of_one_machine(one, other));
  other["device"] = "H100";
  CHECK(!of_one_machine(one, other));
  CHECK(environment_title(one) == "cc 9.0, H200");
}

TEST_CASE("environments: a key of a machine that only one has tells two machines apart") {
  // A graphics card in a computer, the computer alone, and the card without word of its computer.
  const std::map<std::string, std::string> both{{"cpu", "Xeon"}, {"device", "H200"}};
  const std::map<std::string, std::string> cpu{{"cores", "8"}, {"cpu", "Xeon"}};
  const std::map<std::string, std::string> device{{"device", "H200"}};
  struct Pair {
    std::map<std::string, std::string> then;
    std::map<std::string, std::string> now;
    std::string key;
  };
  for (const Pair& pair : {Pair{both, cpu, "device"}, Pair{cpu, both, "device"},
                           Pair{both, device, "cpu"}, Pair{device, both, "cpu"}}) {
    const auto differences = environment_differences(pair.then, pair.now);
    REQUIRE(differences.size() == 1);
    CHECK(differences[0].key == pair.key);
    CHECK(differences[0].role == KeyRole::machine);
    CHECK(differences[0].then.empty() != differences[0].now.empty());
    CHECK(!of_one_machine(pair.then, pair.now));
  }
  CHECK(environment_differences(cpu, device).size() == 2);
  CHECK(!of_one_machine(cpu, device));
  CHECK(of_one_machine(cpu, cpu));
  // What names no machine may be of any.
  CHECK(!of_one_machine({}, cpu));
  CHECK(!of_one_machine({{"cores", "8"}}, {{"cores", "8"}}));
}

TEST_CASE("UTC: a text is a second and back, and what no calendar has is none") {
  CHECK(utc_seconds("1970-01-01T00:00:00Z") == 0);
  CHECK(utc_seconds("2000-03-01T00:00:01Z") == 951'868'801);
  for (const std::int64_t seconds : {std::int64_t{0}, std::int64_t{951'868'801}, std::int64_t{-1},
                                     std::int64_t{4'102'444'799}}) {
    CHECK(utc_seconds(utc_text(seconds)) == seconds);
  }
  for (const char* text :
       {"", "2026-02-29T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01 00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-01-01T00:00:00Z ", "-026-01-01T00:00:00Z"}) {
    CAPTURE(text);
    CHECK(!utc_seconds(text));
  }
}

}  // namespace penstock::testing
