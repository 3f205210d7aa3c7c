#include "tests/support/pipeline_paper.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "tests/support/scratch.hpp"

namespace penstock::testing {

using nlohmann::json;

json pipeline_table(json rows, const char* judgements) {
  json table = json::parse(R"({
    "name": "times", "is": "time of an iteration", "unit": "us",
    "columns": ["kind", "p", "m", "published_us"],
    "label": ["p", "m"],
    "names": [["f", "pace"], ["b", "2*f"]],
    "scenario": { "schedule": { "name": "1f1b" } },
    "set": { "/model/stages/0/forward_us": "f", "/model/stages/0/backward_us": "b",
             "/model/stages/1/forward_us": "f", "/model/stages/1/backward_us": "b",
             "/hardware/devices": "p", "/schedule/microbatches": "m" },
    "results": { "makespan_us": "/makespan_us" },
    "simulated": "makespan_us", "published": "published_us"
  })");
  table["rows"] = std::move(rows);
  table["judgements"] = json::parse(judgements);
  return table;
}

json paper_with(json table) {
  return {
      {"penstock", 1},
      {"title", "t"},
      {"source", "s"},
      {"constants",
       {{{"name", "pace"}, {"is", "length of F"}, {"start", 1}, {"least", 0.01}, {"most", 100}}}},
      {"scenario",
       json::parse(R"({"model": {"stages": [{}, {}]}, "hardware": {"name": "ideal"}})")},
      {"tables", {std::move(table)}}};
}

Paper read_paper_of(const json& document) {
  const Scratch scratch;
  return read_paper(scratch.file("paper.json", document.dump()));
}

OtherRows read_rows_of(const Paper& paper, const std::string& csv) {
  const Scratch scratch;
  const PaperTable& table = paper.tables.front();
  return {table.name, read_paper_rows(scratch.file("rows.csv", csv), table)};
}

}  // namespace penstock::testing
