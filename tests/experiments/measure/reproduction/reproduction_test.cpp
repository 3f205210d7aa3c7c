#include "experiments/measure/reproduction/reproduction.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "sim/base/error.hpp"
#include "tests/support/pipeline_paper.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

using nlohmann::json;

Reproduction reproduced(const json& paper) { return reproduce(read_paper_of(paper)); }

JudgedTable judged_in_paper(json rows, const char* judgements) {
  const json table = pipeline_table(std::move(rows), judgements);
  return reproduced(paper_with(table)).tables[0].judgements[0];
}

std::string reproduction_refusal(const json& paper) {
  return refused_with<InputError>([&] { reproduced(paper); });
}

}  // namespace

TEST_CASE("reproduce: a row is what its scenario comes to, and its error that over the published") {
  // (4 + 1) * 3 us = 15 and (8 + 1) * 3 us = 27.
  const JudgedTable judged = judged_in_paper({{"a", 2, 4, 15}, {"a", 2, 8, 30}},
                                             R"([{"name": "as it is", "each": 0.05}])");
  CHECK(judged.rows[0].simulated == doctest::Approx(15));
  CHECK(judged.rows[0].error == doctest::Approx(0));
  CHECK(judged.rows[1].simulated == doctest::Approx(27));
  CHECK(judged.rows[1].error == doctest::Approx(-0.1));
  CHECK(judged.judged.mean == doctest::Approx(0.05));
  CHECK(judged.judged.worst == doctest::Approx(-0.1));
  CHECK(judged.judged.rows == 2);
  CHECK_FALSE(judged.met);
}

TEST_CASE("reproduce: constants are fitted to the rows that are named, and judged on others") {
  // The rows were made with a pace of 5: 75 and 135 us. The first is fitted, the second judged.
  const JudgedTable judged = judged_in_paper(
      {{"a", 2, 4, 75}, {"a", 2, 8, 135}},
      R"([{"name": "j", "fit": {"constants": ["pace"], "rows": "m == 4"}, "rows": "m != 4", "each": 0.001}])");
  CHECK(judged.constants[0].values.at("pace") == doctest::Approx(5).epsilon(1e-4));
  CHECK(judged.constants[0].rows == 1);
  CHECK(judged.rows[0].fitted);
  CHECK_FALSE(judged.rows[0].judged);
  CHECK_FALSE(judged.rows[1].fitted);
  CHECK(judged.rows[1].error == doctest::Approx(0).epsilon(1e-4));
  CHECK(judged.met);
}

TEST_CASE("reproduce: groups have constants of their own") {
  // Pace 5 for a and 7 for b.
  const JudgedTable judged =
      judged_in_paper({{"a", 2, 4, 75}, {"a", 2, 8, 135}, {"b", 2, 4, 105}, {"b", 2, 8, 189}},
                      R"([{"name": "j", "each": 0.001, "rows": "m != 4",
      "fit": {"constants": ["pace"], "rows": "m == 4", "apart": ["kind"]}}])");
  REQUIRE(judged.constants.size() == 2);
  CHECK(judged.constants[0].values.at("pace") == doctest::Approx(5).epsilon(1e-4));
  CHECK(judged.constants[1].values.at("pace") == doctest::Approx(7).epsilon(1e-4));
  CHECK(judged.met);
}

TEST_CASE("reproduce: on others, no row is judged by constants that saw it") {
  // Two rows agree on a pace of 5; the third says 10. Judged by the others it is half of what was
  // published, and each of the two is judged by one row of either kind.
  const JudgedTable judged = judged_in_paper(
      {{"a", 2, 4, 75}, {"a", 2, 8, 135}, {"a", 2, 16, 510}},
      R"([{"name": "j", "each": 0.1, "fit": {"constants": ["pace"], "on_others": true}}])");
  CHECK(judged.constants.size() == 3);
  CHECK(judged.rows[2].error == doctest::Approx(-0.5).epsilon(1e-3));
  CHECK_FALSE(judged.met);
}

TEST_CASE("reproduce: values are seen from a reference, as a ratio or a difference") {
  json table =
      pipeline_table({{"a", 2, 4, 10}, {"a", 2, 8, 18}}, R"([{"name": "j", "each": 0.001}])");
  table["reference"] = {{"row", "m == 4"}};
  const JudgedTable ratio = reproduced(paper_with(table)).tables[0].judgements[0];
  CHECK(ratio.rows[1].published == doctest::Approx(1.8));
  CHECK(ratio.rows[1].simulated == doctest::Approx(27.0 / 15));
  CHECK(ratio.judged.rows == 1);  // the reference itself is 1 by definition
  CHECK(ratio.met);
  table["reference"]["as"] = "difference";
  const JudgedTable difference = reproduced(paper_with(table)).tables[0].judgements[0];
  CHECK(difference.rows[1].published == doctest::Approx(8));
  CHECK(difference.rows[1].simulated == doctest::Approx(12));
}

TEST_CASE("reproduce: ranks agree as often as pairs are in the same order, less the others") {
  // Simulated 15 < 27 < 51. Published, two of three pairs are in this order: (2 - 1) / 3.
  const JudgedTable judged = judged_in_paper({{"a", 2, 4, 20}, {"a", 2, 8, 10}, {"a", 2, 16, 30}},
                                             R"([{"name": "j", "ranking": 0.5}])");
  CHECK(*judged.ranking == doctest::Approx(1.0 / 3));
  CHECK_FALSE(judged.met);
}

TEST_CASE("reproduce: pairs that are far enough apart come in the published order") {
  // Simulated 15 < 27 < 51. Published, 20 and 10 are in the other order, 20 and 22 too close.
  json table = pipeline_table(
      {{"a", 2, 4, 20}, {"a", 2, 8, 10}, {"a", 2, 16, 22}},
      R"([{"name": "j", "in_order": 0.5, "apart": 0.2}, {"name": "k", "in_order": 0.51, "apart": 0.2}])");
  const ReproducedTable reproduced_table = reproduced(paper_with(table)).tables[0];
  const JudgedTable& judged = reproduced_table.judgements[0];
  CHECK(judged.ranked_pairs == 2);
  CHECK(judged.pairs_in_order == 1);
  CHECK(judged.met);
  CHECK_FALSE(reproduced_table.judgements[1].met);
}

TEST_CASE("reproduce: a table without published values predicts, and shows further columns") {
  json table = pipeline_table({{"a", 2, 4, 0}, {"a", 2, 8, 0}}, R"([{"name": "j"}])");
  table.erase("published");
  table["shown"] = json::parse(R"([["twice", "2*m"]])");
  const Paper paper = read_paper_of(paper_with(table));
  const Reproduction reproduction = reproduce(paper);
  const JudgedTable& judged = reproduction.tables[0].judgements[0];
  CHECK(judged.rows[1].simulated == doctest::Approx(27));
  CHECK(judged.rows[1].shown == std::vector<double>{16});
  CHECK(judged.judged.rows == 0);
  CHECK(judged.met);
  const std::string text = reproduction_text(paper, reproduction);
  CHECK(says(text, "twice  published  simulated"));
  CHECK(says(text, "predicted"));
}

TEST_CASE("reproduce: a reference has no error, but a place in the ranking") {
  // Simulated 15 < 27, published 20 > 10: the only pair is in the other order.
  json table =
      pipeline_table({{"a", 2, 4, 20}, {"a", 2, 8, 10}}, R"([{"name": "j", "ranking": -1}])");
  table["reference"] = {{"row", "m == 4"}};
  const JudgedTable judged = reproduced(paper_with(table)).tables[0].judgements[0];
  CHECK(judged.judged.rows == 1);
  CHECK(*judged.ranking == -1);
}

TEST_CASE("reproduce: a row that constants were fitted to is not judged by them") {
  const JudgedTable judged = judged_in_paper(
      {{"a", 2, 4, 75}, {"a", 2, 8, 135}},
      R"([{"name": "j", "fit": {"constants": ["pace"], "rows": "m == 4"}, "each": 0.001}])");
  CHECK(judged.judged.rows == 1);
  CHECK(judged.rows[0].fitted);
  CHECK_FALSE(judged.rows[0].judged);
}

TEST_CASE("reproduce: a row is shown where it has a part, and once where it has none") {
  const json table = pipeline_table({{"a", 2, 4, 15}, {"a", 2, 8, 27}, {"a", 2, 16, 51}},
                                    R"([{"name": "few", "rows": "m == 4"},
          {"name": "more", "rows": "m == 8", "fit": {"constants": ["pace"], "rows": "m == 4"}}])");
  const Paper paper = read_paper_of(paper_with(table));
  const Reproduction reproduction = reproduce(paper);
  for (const std::string& text :
       {reproduction_markdown(paper, reproduction), reproduction_text(paper, reproduction)}) {
    const std::size_t more = text.find("more");
    CAPTURE(text);
    CHECK(says(text.substr(0, more), " 15 "));
    CHECK_FALSE(says(text.substr(0, more), " 27 "));
    CHECK(says(text.substr(0, more), " 51 "));
    CHECK(says(text.substr(more), " 15 "));
    CHECK(says(text.substr(more), " 27 "));
    CHECK_FALSE(says(text.substr(more), " 51 "));
  }
}

TEST_CASE("reproduce: a table has the rows for which its formula holds") {
  json table =
      pipeline_table({{"a", 2, 4, 15}, {"a", 2, 8, 27}, {"b", 2, 16, 51}}, R"([{"name": "j"}])");
  table["where"] = "m > 4";
  const JudgedTable judged = reproduce(read_paper_of(paper_with(table))).tables[0].judgements[0];
  REQUIRE(judged.rows.size() == 2);
  CHECK(judged.rows[0].published == 27);
  CHECK(judged.judged.rows == 2);
  table["where"] = "m > 16";
  CHECK(says(reproduction_refusal(paper_with(table)), "/tables/0/where: no row is left"));
  table["where"] = "q > 16";
  CHECK(says(reproduction_refusal(paper_with(table)), "/tables/0/where"));
}

TEST_CASE("reproduce: a ranking without pairs that differ is not met") {
  const JudgedTable judged =
      judged_in_paper({{"a", 2, 4, 20}, {"a", 2, 8, 20}}, R"([{"name": "j", "ranking": 0.5}])");
  CHECK_FALSE(judged.ranking);
  CHECK_FALSE(judged.met);
}

TEST_CASE("reproduce: a judgement over no row is not met") {
  json table =
      pipeline_table({{"a", 2, 4, 15}}, R"([{"name": "j", "rows": "m > 100", "each": 1}])");
  CHECK_FALSE(reproduced(paper_with(table)).met());
}

TEST_CASE("reproduce: texts of a scenario that begin with = are formulas, in patches too") {
  // Delays of 1 us for one microbatch over two stages: 6 + 2; and of twice the number of ranks.
  json table = pipeline_table(json::parse(R"([["one", 2, 1, 8], ["four", 2, 1, 14]])"),
                              R"([{"name": "j", "each": 1e-9}])");
  table["scenario"]["hardware"] = json::parse(R"({"transfer_us": "= pace"})");
  table["patches"] =
      json::parse(R"({"kind": {"one": {}, "four": {"hardware": {"transfer_us": "=2*p"}}}})");
  CHECK(reproduced(paper_with(table)).met());
  table["scenario"]["hardware"] = json::parse(R"({"transfer_us": "=speed"})");
  CHECK(says(reproduction_refusal(paper_with(table)), "times, row 2 1: the formula \"speed\""));
}

TEST_CASE("reproduce: a result with * is the largest of a list") {
  // Under 1f1b rank r holds p - r activations.
  json table = pipeline_table({{"a", 2, 4, 2}}, R"([{"name": "j", "each": 1e-9}])");
  table["results"] = {{"held", "/ranks/*/peak_activations"}};
  table["simulated"] = "held";
  CHECK(reproduced(paper_with(table)).met());
  table["results"] = {{"held", "/ranks/*/nothing"}};
  CHECK(says(reproduction_refusal(paper_with(table)),
             "the result \"held\" has no number at /nothing"));
  table["results"] = {{"held", "/nothing/*/peak_activations"}};
  CHECK(
      says(reproduction_refusal(paper_with(table)), "has nothing at /nothing/*/peak_activations"));
}

TEST_CASE("reproduce: a patch is chosen by the text of a column") {
  // One microbatch: F up and B down two stages, 6 us, and with delays one each way, 8 us.
  json table = pipeline_table(json::parse(R"([["fast", 2, 1, 6], ["late", 2, 1, 8]])"),
                              R"([{"name": "j", "each": 1e-9}])");
  table["patches"] =
      json::parse(R"({"kind": {"fast": {}, "late": {"hardware": {"transfer_us": 1}}}})");
  CHECK(reproduced(paper_with(table)).met());
  table["rows"][1][0] = "odd";
  CHECK(says(reproduction_refusal(paper_with(table)), "have none for odd"));
}

TEST_CASE("reproduce: faults of a paper are told with their place") {
  json table = pipeline_table({{"a", 2, 4, 15}}, R"([{"name": "j"}])");
  const auto changed = [&](const char* pointer, json value) {
    json paper = paper_with(table);
    paper[json::json_pointer(pointer)] = std::move(value);
    return reproduction_refusal(paper);
  };
  CHECK(says(changed("/tables/0/rows/0", {1, 2}), "/tables/0/rows/0: the row has 2 cells"));
  CHECK(says(changed("/tables/0/label", {"q"}), "/tables/0/label/0: there is no column \"q\""));
  CHECK(says(changed("/constants/0/start", 1000), "/constants/0/start"));
  CHECK(says(changed("/tables/0/simulated", "speed"), "times, row 2 4: the formula \"speed\""));
  CHECK(says(changed("/tables/0/results", {{"x", "/nothing"}}), "no number at /nothing"));
  CHECK(says(changed("/tables/0/set/~1model~1stages~1nine", "m"), "leads nowhere"));
  CHECK(says(changed("/tables/0/set/~1model~1stages~1300000000~1forward_us", "m"), "has 2 items"));
  CHECK(says(changed("/tables/0/results/makespan_us", "makespan_us"), "makespan_us"));
  CHECK(says(changed("/tables/0/results/makespan_us", "/~2"), "the result \"makespan_us\""));
  CHECK(says(changed("/tables/0/published", "m*0"), "has no error"));
  CHECK(says(changed("/tables/0/rows", json::array()), "/tables/0/rows: there are none"));
  CHECK(says(changed("/scenario", json::parse(R"({"model": {"stages": [{"stash_bytes": 10}, {}]},
      "hardware": {"name": "ideal"}, "memory": {"capacity_bytes": 1, "policy": "stall"}})")),
             "does not finish: "));
  CHECK(says(changed("/tables/0/set/~1speed", "m"), "/speed: unknown key \"speed\""));
  CHECK(says(changed("/tables/0/judgements/0/fit", {{"constants", {"q"}}}), "no constant \"q\""));
  CHECK(says(changed("/tables/0/judgements/0/fit", {{"constants", json::array()}, {"table", "q"}}),
             "there is no table \"q\""));
  CHECK(says(changed("/tables/0/judgements/0/fit", {{"constants", {"pace"}}, {"rows", "m > 99"}}),
             "there is no row to fit"));
  CHECK(says(changed("/tables/0/reference", {{"row", "m == 99"}}), "no row is the reference"));
  CHECK(says(changed("/tables/0/odd", 1), "/tables/0/odd: unknown key"));
}

}  // namespace penstock::testing
