#include <doctest/doctest.h>

#include <cstddef>
#include <string>

#include "experiments/show/pictures/picture.hpp"
#include "experiments/show/pictures/plots/plots.hpp"

namespace penstock::testing {

TEST_CASE("many panels wrap: a page whose width is not given is as wide as that of four") {
  const auto width_of = [](std::size_t panels) {
    CalibrationPlot plot;
    plot.panels.resize(panels);
    for (CalibrationPanel& panel : plot.panels) panel.series = {{"a", {{1, 2, 1, 3}}}};
    const std::string svg = draw_calibration_plot(PictureFormat::svg, plot);
    const std::size_t begin = svg.find("width=\"") + 7;
    return std::stoi(svg.substr(begin));
  };
  CHECK(width_of(15) == width_of(4));
  CHECK(width_of(4) > width_of(3));
}

}  // namespace penstock::testing
