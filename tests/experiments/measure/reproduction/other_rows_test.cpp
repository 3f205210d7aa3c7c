#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/input/files/json_input.hpp"
#include "experiments/measure/reproduction/reproduction.hpp"
#include "sim/base/error.hpp"
#include "tests/support/pipeline_paper.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

// Rows that the paper lacks, and constants that are given.

namespace penstock::testing {

using nlohmann::json;

namespace {

/// The error that other rows give, without the folder of their file.
std::string error_of_rows(const std::string& csv) {
  const json table = pipeline_table({{"a", 2, 4, 75}, {"a", 2, 8, 135}}, R"([{"name": "j"}])");
  const Paper paper = read_paper_of(paper_with(table));
  try {
    reproduce(paper, {.other = read_rows_of(paper, csv)});
  } catch (const InputError& error) {
    const std::string text = error.text();
    const std::size_t at = text.find("rows.csv");
    return at == std::string::npos ? text : text.substr(at);
  }
  return "none";
}

}  // namespace

TEST_CASE("reproduce: an error in other rows names their file, row and column") {
  const std::string head = "# times\n# of a run\nkind,p,m,published_us\n";
  CHECK(
      error_of_rows("# times\nkind,p,published_us\n") ==
      "rows.csv: row 1: the column \"m\" is missing; table \"times\" has kind, p, m, published_us");
  CHECK(error_of_rows(head + "a,2,x4,75\n") ==
        "rows.csv: row 3, column 2: \"x4\" is no number; the paper's column has numbers");
  CHECK(error_of_rows(head + "a,2,4,75\na,2,-4,75\n")
            .starts_with("rows.csv: row 4, column 2: times: /schedule/microbatches: "));
  CHECK(error_of_rows(head + "b,2,4,-75\n") ==
        "rows.csv: row 3, column 3: times: /published: it is -75; it must not be below 0");
  CHECK(says(error_of_rows(head + "b,2,4,0\n"), "has no error: published 0"));
  CHECK(error_of_rows(head + "b,2,4,75\n") == "none");
}

TEST_CASE("reproduce: other rows are judged by constants fitted to the paper's own") {
  const json table = pipeline_table(
      {{"a", 2, 4, 75}}, R"([{"name": "j", "fit": {"constants": ["pace"]}, "each": 0.001}])");
  const Paper paper = read_paper_of(paper_with(table));
  const OtherRows other = read_rows_of(paper, "m,published_us,p,kind\n16,255,2,a\n\n# 17 * 15\n");
  const JudgedTable judged = reproduce(paper, {.other = other}).tables[0].judgements[0];
  REQUIRE(judged.rows.size() == 1);
  CHECK(judged.rows[0].label == std::vector<std::string>{"2", "16"});
  CHECK_FALSE(judged.rows[0].fitted);
  CHECK(judged.met);
}

TEST_CASE("reproduce: a target by which no row is judged is neither met nor missed") {
  const json table =
      pipeline_table({{"a", 2, 4, 15}}, R"([{"name": "j", "rows": "m > 99", "each": 0.01}])");
  const Paper paper = read_paper_of(paper_with(table));
  const Reproduction reproduction = reproduce(paper);
  CHECK(reproduction_text(paper, reproduction).ends_with("no row judged.\n"));
  CHECK(summary_rows("p", paper, reproduction).at(0).back() == "-");
  const json document = json::parse(reproduction_json(paper, reproduction).dump());
  CHECK(document["tables"][0]["judgements"][0]["met"].is_null());
  CHECK_FALSE(reproduction.met());
}

TEST_CASE("reproduce: other rows of a group that the paper lacks have constants of their own") {
  // The paper's rows have a pace of 5, those of kind b one of 7: (4 + 1) * 3 * 7 and (8 + 1) * 3
  // * 7.
  const json table =
      pipeline_table({{"a", 2, 4, 75}}, R"([{"name": "j", "each": 0.001, "rows": "m != 4",
      "fit": {"constants": ["pace"], "rows": "m == 4", "apart": ["kind"]}}])");
  const Paper paper = read_paper_of(paper_with(table));
  const OtherRows other =
      read_rows_of(paper, "kind,p,m,published_us\nb,2,4,105\nb,2,8,189\na,2,8,135\n");
  const JudgedTable judged = reproduce(paper, {.other = other}).tables[0].judgements[0];
  REQUIRE(judged.constants.size() == 2);
  CHECK(judged.constants[0].values.at("pace") == doctest::Approx(7).epsilon(1e-4));
  CHECK(judged.constants[1].values.at("pace") == doctest::Approx(5).epsilon(1e-4));
  CHECK(judged.rows[0].fitted);
  CHECK_FALSE(judged.rows[0].judged);
  CHECK_FALSE(judged.rows[1].fitted);
  CHECK_FALSE(judged.rows[2].fitted);
  CHECK(judged.judged.rows == 2);
  CHECK(judged.met);
}

TEST_CASE("reproduce: tables have the keys of every_table, merged under their own") {
  const json table = pipeline_table({{"a", 2, 4, 75}}, R"([{"name": "j"}])");
  json paper = paper_with({{"name", "other"}, {"rows", {{"a", 2, 8, 135}}}, {"unit", nullptr}});
  paper["tables"].push_back({{"name", "own"}, {"note", "its own"}});
  paper["every_table"] = table;
  const Paper read = read_paper_of(paper);
  REQUIRE(read.tables.size() == 2);
  CHECK(read.tables[0].name == "other");
  CHECK(read.tables[0].unit.empty());
  CHECK(read.tables[0].rows[0][2].number == 8);
  CHECK(read.tables[0].columns == read.tables[1].columns);
  CHECK(read.tables[1].unit == "us");
  CHECK(read.tables[1].rows[0][2].number == 4);
  CHECK(read.tables[1].note == "its own");
}

TEST_CASE("reproduce: the schema takes every paper as it is written") {
  const Schema schema(json::parse(paper_schema()));
  const auto taken = [&](const json& paper) {
    return refused_at([&] { schema.check(paper); }) == "accepted";
  };
  int papers = 0;
  for (const auto& folder :
       std::filesystem::directory_iterator(PENSTOCK_ROOT "/experiments/papers")) {
    const std::string file = folder.path().string() + "/paper.json";
    if (!std::filesystem::exists(file)) continue;
    CAPTURE(file);
    CHECK(taken(json::parse(content_of(file))));
    ++papers;
  }
  CHECK(papers > 0);
  json paper = paper_with({{"name", "other"}, {"unit", nullptr}});
  CHECK_FALSE(taken(paper));
  paper["every_table"] = json::object();  // has no key that the table lacks
  CHECK_FALSE(taken(paper));
  paper["every_table"] = pipeline_table({{"a", 2, 4, 75}}, R"([{"name": "j"}])");
  CHECK(taken(paper));
  paper["every_table"]["colums"] = {"m"};
  CHECK_FALSE(taken(paper));
}

TEST_CASE("reproduce: given constants replace the fit, to a table that the paper lacks too") {
  // A pace of 5: 75 and 135 us. Nothing is fitted to these rows, so all may be judged.
  const json table = pipeline_table({{"a", 2, 4, 75}, {"a", 2, 8, 135}},
                                    R"([{"name": "j", "each": 1e-9, "rows": "m == 4",
      "fit": {"constants": ["pace"], "table": "elsewhere"}}])");
  ReproduceOptions options;
  options.constants = {"f", {{"elsewhere", "k", "", {{"pace", 5}}}}};
  const Paper paper = read_paper_of(paper_with(table));
  const Reproduction reproduction = reproduce(paper, options);
  const JudgedTable& judged = reproduction.tables[0].judgements[0];
  CHECK(judged.met);
  CHECK(judged.judged.rows == 1);
  CHECK(judged.rows[1].error == doctest::Approx(0));
  CHECK(judged.constants[0].source_file == "f");
  CHECK(says(reproduction_text(paper, reproduction), "pace = 5 (from f)"));
  CHECK(says(reproduction_text(paper, reproduction), "1 row not judged: mean error 0.0 %"));
}

TEST_CASE("reproduce: rows that a fit names are not judged with its constants given") {
  const json table = pipeline_table(
      {{"a", 2, 4, 75}, {"a", 2, 8, 135}},
      R"([{"name": "j", "fit": {"constants": ["pace"], "rows": "m == 4"}, "each": 1e-9}])");
  ReproduceOptions options;
  options.constants = {"f", {{"times", "j", "", {{"pace", 5}}}}};
  const Paper paper = read_paper_of(paper_with(table));
  const JudgedTable own = reproduce(paper, options).tables[0].judgements[0];
  CHECK(own.rows[0].fitted);
  CHECK(own.judged.rows == 1);
  // Of foreign rows, only those of the paper were fitted.
  options.other = read_rows_of(paper, "kind,p,m,published_us\nb,2,4,75\na,2,4,75\n");
  const JudgedTable judged = reproduce(paper, options).tables[0].judgements[0];
  CHECK_FALSE(judged.rows[0].fitted);
  CHECK(judged.rows[1].fitted);
}

TEST_CASE("reproduce: an anchor scales all other rows, and these are judged") {
  // Simulated 15, 27 and 51; the first was measured as 30, twice that.
  const json table = pipeline_table(
      {{"a", 2, 4, 30}, {"a", 2, 8, 54}, {"a", 2, 16, 100}},
      R"([{"name": "j", "rows": "m > 99", "fit": {"constants": ["pace"]}, "each": 0.001}])");
  const Paper read = read_paper_of(paper_with(table));
  const Paper paper = anchored(read, "times", read.tables[0].rows, 0, /*has_constants=*/false);
  const JudgedTable judged = reproduce(paper).tables[0].judgements[0];
  CHECK(judged.name == "scaled by row 1: 2 4");
  CHECK(judged.rows[0].anchor);
  CHECK(judged.judged.rows == 2);
  CHECK(judged.rows[1].simulated == doctest::Approx(54));
  CHECK(judged.rows[2].error == doctest::Approx(0.02));
  CHECK(judged.judged.mean == doctest::Approx(0.01));
  CHECK(judged.met);
}

}  // namespace penstock::testing
