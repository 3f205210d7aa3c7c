#include "experiments/plan/sweeps/tables/row_table.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "experiments/plan/sweeps/tables/shown_axis.hpp"
#include "experiments/plan/sweeps/tables/table_plots.hpp"
#include "experiments/show/pictures/plots/plot_data.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

/// Two schedules with 4 and 8 microbatches; gpipe with 8 has no result.
constexpr const char* four_rows =
    R"({"item":0,"hash":"a","configuration":{"/schedule/name":"1f1b","/m":4},"result":{"makespan_us":2000.5,"bubble":{"of_makespan":0.5},"throughput":{"samples_per_s":10},"peak_memory_bytes":2147483648}}
{"item":1,"hash":"b","configuration":{"/schedule/name":"1f1b","/m":8},"result":{"makespan_us":1000,"bubble":{"of_makespan":0.25},"throughput":{"samples_per_s":30},"peak_memory_bytes":4294967296}}
{"item":2,"hash":"c","configuration":{"/schedule/name":"gpipe","/m":4},"result":{"makespan_us":3000,"bubble":{"of_makespan":0.75},"throughput":{"samples_per_s":9},"peak_memory_bytes":3221225472}}
{"item":3,"hash":"d","configuration":{"/schedule/name":"gpipe","/m":8},"findings":[{"kind":"refused","text":"too \"many\", it is"}]}
)";

/// The same, and gpipe with 8 microbatches is the quickest, but out of memory.
std::string with_one_out_of_memory() {
  const std::string rows(four_rows);
  const std::string result =
      R"("result":{"makespan_us":500,"bubble":{"of_makespan":0.1},"throughput":{"samples_per_s":90},"peak_memory_bytes":1073741824},)";
  return std::string(rows).insert(rows.find("\"findings\""), result);
}

}  // namespace

TEST_CASE("tables: rows become columns by pointer and by name, with their digits") {
  const RowTable table = row_table_of(four_rows);
  CHECK(table.columns == std::vector<std::string>{"item", "hash", "/schedule/name", "/m",
                                                  "makespan_us", "bubble.of_makespan",
                                                  "throughput.samples_per_s", "peak_memory_bytes",
                                                  "finding", "finding_text"});
  CHECK(table.rows[0][4] == TableCell{true, "2000.5"});
  CHECK(table.rows[3][4].empty());
  CHECK(table.rows[3][9].text == "too \"many\", it is");
  CHECK(table.varied() == std::vector<std::size_t>{2, 3});
  CHECK(table.column("--x", "name") == 2);
  CHECK(table.column("--y", "of_makespan") == 5);
  CHECK_THROWS_AS(table.column("--y", "nothing"), UsageError);
}

TEST_CASE("tables: CSV and SQLite have the same table") {
  const Scratch scratch;
  const RowTable table = row_table_of(four_rows);
  const std::string csv = scratch.file("rows.csv", csv_of(table));
  const std::string sqlite = scratch.path("rows.sqlite");
  write_sqlite(table, sqlite);
  write_sqlite(table, sqlite);  // replaces it
  const std::string lines = scratch.file("rows.jsonl", four_rows);
  for (const std::string& path : {csv, sqlite, lines}) {
    CAPTURE(path);
    const RowTable read = read_row_table(path);
    CHECK(read.columns == table.columns);
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      for (std::size_t c = 0; c < table.columns.size(); ++c) {
        CHECK(read.rows[r][c].text == table.rows[r][c].text);
        CHECK(read.rows[r][c].is_number == table.rows[r][c].is_number);
      }
    }
  }
  CHECK_THROWS_AS(read_row_table(scratch.file("x.jsonl", "{}\n")), InputError);
  CHECK_THROWS_AS(read_row_table(scratch.file("x.sqlite", "no database")), InputError);
  CHECK_THROWS_AS(read_row_table(scratch.file("x.csv", "a,b\n1\n")), InputError);
}

TEST_CASE("tables: texts with line ends, quotes and NUL are read back from CSV and SQLite") {
  const Scratch scratch;
  // The last row's empty text is none.
  RowTable table{{"item", "/description", "makespan_us"},
                 {{{true, "0"}, {false, "a\nb, \"c\"\n\n"}, {true, "2000.5"}},
                  {{true, "1"}, {false, "it's\r\n"}, {true, "1e+20"}},
                  {{true, "2"}, {false, std::string("x\0y", 3)}, {}},
                  {{true, "3"}, {}, {true, "0.0001"}}}};
  const std::string csv = scratch.file("rows.csv", csv_of(table));
  const std::string sqlite = scratch.path("rows.sqlite");
  write_sqlite(table, sqlite);
  for (const std::string& path : {csv, sqlite}) {
    CAPTURE(path);
    const RowTable read = read_row_table(path);
    CHECK(read.columns == table.columns);
    CHECK(read.rows == table.rows);
  }
}

TEST_CASE("tables: CSV with line ends of Windows has the same cells") {
  const Scratch scratch;
  const RowTable read = read_row_table(scratch.file("w.csv", "a,b\r\n1,\"x\r\ny\"\r\n2,z"));
  CHECK(read.columns == std::vector<std::string>{"a", "b"});
  REQUIRE(read.rows.size() == 2);
  CHECK(read.rows[0][1].text == "x\r\ny");
  CHECK(read.rows[1][1].text == "z");
}

TEST_CASE("plots of tables: a line for each value of what varies besides, without missing points") {
  const RowTable table = row_table_of(four_rows);
  const BubblePlot plot = lines_of_table(table, {.x = {}, .y = "makespan_us", .by = {}});
  CHECK(plot.x_label == "m");
  CHECK(plot.y_label == "step time, ms");
  CHECK(!plot.percent);
  REQUIRE(plot.series.size() == 2);
  CHECK(plot.series[0].name == "1f1b");
  CHECK(plot.series[0].simulated == std::vector<std::pair<double, double>>{{4, 2.0005}, {8, 1}});
  CHECK(plot.series[1].simulated.size() == 1);
  CHECK(plot.series[1].missing.front().second == "too \"many\", it is");
  // Both schedules at 4 microbatches have one place.
  CHECK_THROWS_AS(lines_of_table(table, {.x = "m", .y = {}, .by = "m"}), UsageError);
}

TEST_CASE("plots of tables: scaling has the first point in proportion beside it") {
  const BubblePlot plot =
      scaling_of_table(row_table_of(four_rows), {.x = "m", .y = {}, .by = "name"});
  CHECK(plot.series[0].closed_form == std::vector<std::pair<double, double>>{{4, 10}, {8, 20}});
}

TEST_CASE("plots of tables: a time scales with as much work for each device") {
  // 8 samples in 2 s, 16 in 1.5 s on twice the devices; then 16 in 2.5 s: weak scaling.
  const auto row = [](int devices, double us, double samples) {
    return fmt::format(
        R"({{"item":0,"hash":"a","configuration":{{"/hardware/devices":{}}},"result":{{"makespan_us":{},"bubble":{{"of_makespan":0}},"throughput":{{"samples_per_s":{}}}}}}})"
        "\n",
        devices, us, samples / us * 1e6);
  };
  const PlottedColumns columns{.x = {}, .y = "makespan_us", .by = {}};
  const BubblePlot strong =
      scaling_of_table(row_table_of(row(8, 2e6, 8) + row(16, 1.5e6, 8)), columns);
  CHECK(strong.title.starts_with("Strong scaling: "));
  CHECK(strong.series[0].closed_form[1].second == doctest::Approx(1000));
  const BubblePlot weak =
      scaling_of_table(row_table_of(row(8, 2e6, 8) + row(16, 2.5e6, 16)), columns);
  CHECK(weak.title.starts_with("Weak scaling: "));
  CHECK(weak.series[0].closed_form[1].second == doctest::Approx(2000));
}

TEST_CASE(
    "plots of tables: an axis tied to x sets no lines apart, one that goes up and down does") {
  const auto series = [](const std::vector<int>& replicas) {
    std::string rows;
    for (std::size_t i = 0; i < replicas.size(); ++i) {
      rows += fmt::format(
          R"({{"item":{},"configuration":{{"/hardware/devices":{},"/parallel/data":{}}},)"
          R"("result":{{"throughput":{{"samples_per_s":{}}}}}}})"
          "\n",
          i, 8 << i, replicas[i], 7 + i);
    }
    return scaling_of_table(row_table_of(rows), {}).series;
  };
  const auto tied = series({1, 2, 2});
  REQUIRE(tied.size() == 1);
  CHECK(tied[0].simulated == std::vector<std::pair<double, double>>{{8, 7}, {16, 8}, {32, 9}});
  CHECK(tied[0].closed_form == std::vector<std::pair<double, double>>{{8, 7}, {16, 14}, {32, 28}});
  CHECK(series({1, 2, 1}).size() == 2);
}

TEST_CASE("tables: texts with a unit are numbers, and axes have units") {
  const auto row = [](const char* speed) {
    return fmt::format(
        R"({{"item":0,"hash":"a","configuration":{{"/hardware/bandwidth_bytes_per_s":{},"/model/stages/0/forward_us":"2ms"}},"result":{{"makespan_us":{},"bubble":{{"of_makespan":0.5}}}}}})"
        "\n",
        speed, 1);
  };
  const RowTable table = row_table_of(row("\"2GB/s\"") + row("4000000000") + row("\"3 parsecs\""));
  CHECK(table.rows[0][2] == TableCell{true, "2000000000"});
  CHECK(table.rows[2][2] == TableCell{false, "3 parsecs"});  // refused by the scenario, too
  CHECK(row_table_of(row("\"3e9\"")).rows[0][2] == TableCell{false, "3e9"});
  CHECK(shown_axis(table, 2).label() == "bandwidth, GB/s");
  CHECK(shown_axis(table, 2).named_text(table.rows[0][2]) == "bandwidth 2 GB/s");
  CHECK(shown_axis(table, 3).label() == "forward, \u00b5s");
  CHECK(table.rows[0][3] == TableCell{true, "2000"});
  const RowTable numbers = row_table_of(row("\"2GB/s\"") + row("4000000000"));
  const BubblePlot plot =
      lines_of_table(numbers, {.x = "bandwidth_bytes_per_s", .y = {}, .by = {}});
  CHECK(plot.series[0].simulated == std::vector<std::pair<double, double>>{{2, 0.5}, {4, 0.5}});
  CHECK(bubble_csv(plot).starts_with("series,\"bandwidth, GB/s\",result,simulated,"));
}

TEST_CASE("plots of tables: a heat map has an empty cell where there is no result") {
  const HeatMap map = heat_map_of_table(row_table_of(four_rows), {});
  CHECK(map.columns == std::vector<std::string>{"4", "8"});
  CHECK(map.rows == std::vector<std::string>{"1f1b", "gpipe"});
  CHECK(map.cells[0][1] == 0.25);
  CHECK(!map.cells[1][1]);
  CHECK(map.percent);
  const std::string svg = draw_heat_map(PictureFormat::svg, map);
  CHECK(says(svg, "25.0%"));
  CHECK(says(svg, "no result"));
}

TEST_CASE("plots of tables: a row with a finding is no answer, whatever its figures") {
  const RowTable table = row_table_of(with_one_out_of_memory());
  CHECK(table.rows[3][4].number() == 500);
  CHECK(!table.answer(table.rows[3], 4));
  const FrontPlot front = front_of_table(table);
  REQUIRE(front.points.size() == 4);
  CHECK(!front.points[0].on_front);
  CHECK(front.points[0].finding == "too \"many\", it is");
  CHECK(front.points[1].on_front);
  CHECK(front.points[2].on_front);
  CHECK(says(front_csv(front), "0.0005,1,0,\"too \"\"many\"\", it is\"\n"));
  CHECK(says(draw_front_plot(PictureFormat::svg, front), "found a problem"));
  const HeatMap map = heat_map_of_table(table, {});
  CHECK(!map.cells[1][1]);
  CHECK(says(heat_map_csv(map), ",8,gpipe,,\"too"));
  const BubblePlot lines = lines_of_table(table, {.x = {}, .y = "makespan_us", .by = {}});
  CHECK(lines.series[1].simulated.size() == 1);
  CHECK(lines.series[1].missing.size() == 1);
}

TEST_CASE("plots of tables: a row that only misses an expectation is an answer") {
  std::string rows = with_one_out_of_memory();
  rows.replace(rows.find("refused"), 7, "expectation");
  const RowTable table = row_table_of(rows);
  CHECK(table.finding_of(table.rows[3]).empty());
  CHECK(table.answer(table.rows[3], 4) == 500);
  CHECK(front_of_table(table).points[0].on_front);
}

TEST_CASE("plots of tables: what is missing is named by the case, not by an option not given") {
  const RowTable none = row_table_of(
      R"({"item":0,"configuration":{"/m":4},"findings":[{"kind":"refused","text":"no"}]}
{"item":1,"configuration":{"/m":8},"findings":[{"kind":"refused","text":"no"}]}
)");
  const auto error_of = [](const auto& draw) { return refused_with<std::runtime_error>(draw); };
  CHECK(error_of([&] { lines_of_table(none, {}); }) ==
        "no row has a result: there is no column bubble.of_makespan");
  CHECK(error_of([&] { heat_map_of_table(none, {}); }).starts_with("no row has a result: "));
  CHECK(error_of([&] { front_of_table(none); }) ==
        "no row has a result: there is no column makespan_us");
  CHECK(error_of([&] { front_of_table({}); }) == "there are no rows to draw");
  const RowTable rows = row_table_of(four_rows);
  CHECK(
      error_of([&] {
        scaling_of_table(rows, {});
      }).starts_with("no one column ends in \"devices\"; name the axis with --x; columns: item, "));
  RowTable one = rows;
  one.rows.resize(1);
  CHECK(error_of([&] { lines_of_table(one, {}); }) == "no axis has several numbers; sweep one");
}

TEST_CASE("plots of tables: a truth is named with its axis, another text is not") {
  const RowTable table{{"/parallel/overlap_sums", "/schedule/name"}, {}};
  CHECK(shown_axis(table, 0).named_text({false, "true"}) == "overlap sums true");
  CHECK(shown_axis(table, 1).named_text({false, "1f1b"}) == "1f1b");
}

TEST_CASE("plots of tables: the front has what none beats in time and memory") {
  const FrontPlot plot = front_of_table(row_table_of(four_rows));
  REQUIRE(plot.points.size() == 3);
  // 1 ms with 4 GiB, 2 ms with 2 GiB; 3 ms with 3 GiB is slower and larger.
  CHECK(plot.points[0].on_front);
  CHECK(plot.points[1].gibibytes == 2);
  CHECK(plot.points[1].on_front);
  CHECK(!plot.points[2].on_front);
}

}  // namespace penstock::testing
