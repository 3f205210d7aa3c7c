#include "experiments/show/pictures/plots/plot_data.hpp"

#include <doctest/doctest.h>

#include "experiments/show/pictures/palette.hpp"
#include "experiments/show/pictures/plots/plots.hpp"
#include "tests/support/pictures.hpp"

namespace penstock::testing {

TEST_CASE("the data of plots are CSV: a header, and a line a point") {
  BubblePlot bubble{.title = "", .subtitle = "", .x_label = "", .y_label = "", .series = {}};
  bubble.series = {{"a, 2 chunks", {{4, 0.25}}, {{4, 0.25}, {8, 0.125}}, {{8, "too \"odd\""}}}};
  CHECK(bubble_csv(bubble) ==
        "series,microbatches,bubble,simulated,closed_form,missing\n"
        "\"a, 2 chunks\",4,of_makespan,0.25,0.25,\n"
        "\"a, 2 chunks\",8,of_makespan,,0.125,\"too \"\"odd\"\"\"\n");

  DrawnRun two = one_f_one_b(2, 1, 1, 2);
  CHECK(timeline_csv(two.plan, two.timeline) ==
        "rank,link,pass,stage,microbatch,begin_us,end_us\n"
        "0,,F,0,0,0,1\n"
        ",0>1,SEND_F,0,0,1,1\n"
        "1,,F,1,0,1,2\n"
        "1,,B,1,0,2,4\n"
        ",1>0,SEND_B,1,0,4,4\n"
        "0,,B,0,0,4,6\n");
  two.timeline.memory = {{Rank{1}, from_us(1.5), 12}};
  CHECK(memory_csv(two.timeline) == "rank,time_us,bytes\n1,1.5,12\n");

  const CalibrationPlot calibration{.panels = {{"kernels", "ms", {{"gemm", {{1, 1.5, 1.25, 2}}}}}}};
  CHECK(calibration_csv(calibration) ==
        "panel,series,unit,measured,predicted,low,high\nkernels,gemm,ms,1,1.5,1.25,2\n");
}

}  // namespace penstock::testing
