#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "experiments/measure/calibration/calibration.hpp"
#include "experiments/show/pictures/plots/plot_data.hpp"
#include "sim/base/error.hpp"
#include "tests/support/pictures.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

using nlohmann::json;

json row_of_paper(double published, double simulated, bool judged) {
  return {{"published", published}, {"simulated", simulated}, {"judged", judged}};
}

json document_of_paper() {
  const json rows = {row_of_paper(10, 11, true), row_of_paper(20, 20, false),
                     row_of_paper(0, 1, true)};
  const json judgement{{"name", "nothing fitted"}, {"rows", rows}};
  return {{"title", "A paper"},
          {"tables", {{{"name", "table 1"}, {"unit", "ms"}, {"judgements", {judgement}}}}}};
}

}  // namespace

TEST_CASE("published against simulated: a panel for each table, with the rows that are judged") {
  const CalibrationPlot plot = published_plot(document_of_paper());
  REQUIRE(plot.panels.size() == 1);
  CHECK(plot.panels[0].title == "table 1");
  CHECK(plot.panels[0].unit == "ms");
  REQUIRE(plot.panels[0].series.size() == 1);
  REQUIRE(plot.panels[0].series[0].points.size() == 1);  // 0 has no place on a logarithmic axis
  CHECK(calibration_csv(plot) ==
        "panel,series,unit,published,simulated\ntable 1,nothing fitted,ms,10,11\n");
  const json two = {document_of_paper(), document_of_paper()};
  CHECK(published_plot(two).panels[1].title == "A paper: table 1");
}

TEST_CASE("published against simulated: bands are those of the judgements, and titles wrap") {
  json document = document_of_paper();
  json& judgements = document["tables"][0]["judgements"];
  CHECK(published_plot(document).panels[0].bands.empty());
  judgements[0]["each"] = 0.08;
  judgements.push_back(judgements[0]);
  judgements[1]["each"] = 0.03;
  document["tables"][0]["name"] = "table of a paper with many words that no narrow column holds";
  CalibrationPlot plot = published_plot(document);
  CHECK(plot.panels[0].bands == std::set<double>{0.03, 0.08});
  plot.options.width = 321;
  const std::string svg = draw_calibration_plot(PictureFormat::svg, plot);
  CHECK(has_text(svg, "nothing fitted, within 8.0 %"));
  CHECK(has_text(svg, "nothing fitted, within 3.0 %"));
  CHECK_FALSE(has_text(svg, "table of a paper with many words that no narrow column holds"));
  CHECK(says(svg, "font-size=\"12\""));
}

TEST_CASE("published against simulated: another document is refused with its place") {
  json other = document_of_paper();
  other["tables"][0].erase("unit");
  CHECK_THROWS_AS(published_plot(other), InputError);
  CHECK_THROWS_AS(published_plot(json{{"kind", "calibration"}}), InputError);
  json none = document_of_paper();
  none["tables"][0]["judgements"][0]["rows"] = json::array();
  CHECK_THROWS_AS(published_plot(none), InputError);
}

}  // namespace penstock::testing
