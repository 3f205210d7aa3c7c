#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <QApplication>
#include <QMouseEvent>
#include <cstdlib>
#include <map>

#include "gui/models/drawing/lane_painter.hpp"
#include "gui/views/canvas/canvas.hpp"
#include "gui/views/canvas/look.hpp"
#include "sim/timeline/timeline_file.hpp"

namespace penstock {
namespace {

constexpr int bench_width = 1824;  // of the lanes in a window of 1920 × 1080
constexpr int bench_height = 1026;

Scenario case_of(std::uint32_t ranks, std::int64_t microbatches) {
  std::string stages;
  for (std::uint32_t s = 0; s < ranks; ++s) {
    stages +=
        fmt::format(R"({}{{"forward_us": {}, "backward_us": 2000, "activation_bytes": 8388608}})",
                    s == 0 ? "" : ", ", 1000 + s % 7 * 10);
  }
  return parse_scenario(
      fmt::format(R"({{"penstock": 1, "model": {{"stages": [{}]}}, "hardware": {{"name": "ideal",)"
                  R"("devices": {}, "latency_us": 2, "bandwidth_bytes_per_s": 25e9}},)"
                  R"("schedule": {{"name": "1f1b", "microbatches": {}}}}})",
                  stages, ranks, microbatches),
      "bench");
}

/// A run of about this many thousand ops, made once.
const PaintedRunPtr& run_of(std::int64_t thousands) {
  static std::map<std::int64_t, PaintedRunPtr> runs;
  PaintedRunPtr& run = runs[thousands];
  if (run == nullptr) run = painted(viewed(case_of(64, thousands * 1000 / 254)), ColourBy::pass);
  return run;
}

/// The lanes of the middle of a run; the second argument is the shown share in millionths, the
/// third whether transfers have strips, or 2: ranks are strips of heat. A window leaves transfers
/// out where they do not fit.
void frame(benchmark::State& state) {
  const PaintedRunPtr& run = run_of(state.range(0));
  const auto span = static_cast<double>(run->lanes->span);
  const auto shown = static_cast<std::int64_t>(span * static_cast<double>(state.range(1)) / 1e6);
  const auto begin = static_cast<std::int64_t>(span / 2) - shown / 2;
  const LaneChoice choice{
      .ranks = 64, .transfers = state.range(2) == 1, .heat = state.range(2) == 2};
  const auto rows = lane_rows(choice, fitting_lane_height(choice, choice.ranks, bench_height));
  const Glyphs glyphs = glyphs_of(QApplication::font(), 1);
  LaneScene scene;
  scene.runs = {run.get()};
  scene.rows = rows;
  scene.axis = axis_for(begin, begin + shown, bench_width);
  scene.theme = &theme(ThemeName::light);
  scene.glyphs = &glyphs;
  QImage image(bench_width, bench_height, QImage::Format_RGB32);
  const Pixels pixels{reinterpret_cast<std::uint32_t*>(image.bits()), bench_width, bench_height,
                      static_cast<std::size_t>(image.bytesPerLine()) / 4};
  LanePainter painter;
  PaintCounts counts;
  for (auto _ : state) counts = painter.draw(scene, pixels);
  state.counters["ops"] = run->run->plan.tasks();
  state.counters["boxes"] = static_cast<double>(counts.boxes);
  state.counters["labels"] = static_cast<double>(counts.labels);
}
BENCHMARK(frame)
    ->ArgNames({"thousand_ops", "shown", "transfers"})
    ->ArgsProduct({{1000, 10000},
                   {1000000, 700000, 400000, 200000, 100000, 50000, 10000, 1000, 60},
                   {0, 1, 2}})
    ->Unit(benchmark::kMillisecond);

void lanes_and_pyramids(benchmark::State& state) {
  const ViewedRunPtr run = run_of(state.range(0))->run;
  for (auto _ : state) benchmark::DoNotOptimize(painted(run, ColourBy::pass));
  state.counters["bytes_per_op"] =
      static_cast<double>(run_of(state.range(0))->bytes()) / run->plan.tasks();
}
BENCHMARK(lanes_and_pyramids)->Arg(1000)->Unit(benchmark::kMillisecond);

/// From the bytes of a file to the first picture.
void open_timeline(benchmark::State& state) {
  const ViewedRunPtr run = run_of(state.range(0))->run;
  const std::string bytes = write_timeline(run->plan, run->timeline, run->title);
  for (auto _ : state) {
    TimelineCanvas canvas;
    canvas.resize(1920, 1080);
    canvas.show_runs(painted(viewed(read_timeline(bytes), "a"), ColourBy::pass), {}, false);
    benchmark::DoNotOptimize(canvas.grab());
  }
}
BENCHMARK(open_timeline)->Arg(1000)->Unit(benchmark::kMillisecond);

/// The file that PENSTOCK_LARGE names, of which parts are read; see `penstock_large_file`.
std::shared_ptr<const LargeTimeline> large_file() {
  const char* const path = std::getenv("PENSTOCK_LARGE");
  return path == nullptr ? nullptr : std::make_shared<const LargeTimeline>(path);
}

void open_large(benchmark::State& state) {
  for (auto _ : state) {
    const auto file = large_file();
    if (file == nullptr) return state.SkipWithError("PENSTOCK_LARGE names no file");
    TimelineCanvas canvas;
    canvas.resize(1920, 1080);
    canvas.show_runs(painted(viewed_part(file, "a", {}, {}), ColourBy::pass), {}, false);
    benchmark::DoNotOptimize(canvas.grab());
  }
}
BENCHMARK(open_large)->Unit(benchmark::kMillisecond);

/// Reads a part from the middle of a file into lanes and pyramids, by thousands of tasks.
void read_part(benchmark::State& state) {
  const auto file = large_file();
  if (file == nullptr) return state.SkipWithError("PENSTOCK_LARGE names no file");
  const double share =
      static_cast<double>(state.range(0)) * 1e3 / static_cast<double>(file->tasks());
  const std::int64_t span = file->overview().makespan.picoseconds;
  const auto half = static_cast<std::int64_t>(static_cast<double>(span) * share / 2);
  for (auto _ : state) {
    const auto run = viewed_part(file, "a", Time{span / 2 - half}, Time{span / 2 + half});
    benchmark::DoNotOptimize(painted(run, ColourBy::pass));
    state.counters["tasks"] = run->plan.tasks();
  }
}
BENCHMARK(read_part)->Arg(100)->Arg(1900)->Unit(benchmark::kMillisecond);

/// The lanes of the middle of it, shown share in millionths, with the part read where it is small.
void frame_large(benchmark::State& state) {
  const auto file = large_file();
  if (file == nullptr) return state.SkipWithError("PENSTOCK_LARGE names no file");
  const std::int64_t span = file->overview().makespan.picoseconds;
  const auto half = static_cast<std::int64_t>(static_cast<double>(span) * 1e-6 *
                                              static_cast<double>(state.range(0)) / 2);
  const bool reads = state.range(0) <= 10'000;
  const PaintedRunPtr run = painted(
      viewed_part(file, "a", Time{reads ? span / 2 - half : 0}, Time{reads ? span / 2 + half : 0}),
      ColourBy::pass);
  const auto rows = lane_rows({.ranks = 64, .transfers = false}, 15);
  LaneScene scene;
  scene.runs = {run.get()};
  scene.rows = rows;
  scene.axis = axis_for(span / 2 - half, span / 2 + half, bench_width);
  scene.theme = &theme(ThemeName::light);
  QImage image(bench_width, bench_height, QImage::Format_RGB32);
  const Pixels pixels{reinterpret_cast<std::uint32_t*>(image.bits()), bench_width, bench_height,
                      static_cast<std::size_t>(image.bytesPerLine()) / 4};
  LanePainter painter;
  for (auto _ : state) painter.draw(scene, pixels);
}
BENCHMARK(frame_large)
    ->ArgName("shown")
    ->Arg(1000000)
    ->Arg(100000)
    ->Arg(20000)
    ->Arg(10000)
    ->Arg(1000)
    ->Arg(10)
    ->Unit(benchmark::kMillisecond);

/// A moved pointer: what is painted over the lanes.
void hover(benchmark::State& state) {
  TimelineCanvas canvas;
  canvas.resize(1920, 1080);
  canvas.show_runs(run_of(state.range(0)), {}, false);
  canvas.finish();
  QImage image(canvas.size(), QImage::Format_RGB32);
  int x = 0;
  for (auto _ : state) {
    const QPointF at(200 + x++ % 1500, 300);
    QMouseEvent move(QEvent::MouseMove, at, at, Qt::NoButton, Qt::NoButton, Qt::NoModifier);
    QApplication::sendEvent(&canvas, &move);
    canvas.render(&image);
  }
}
BENCHMARK(hover)->Arg(1000)->Unit(benchmark::kMillisecond);

/// A step of a slider: a changed scenario, simulated; `show` takes the run.
template <class Show>
void turn_slider(benchmark::State& state, Show show) {
  const Scenario base = case_of(static_cast<std::uint32_t>(state.range(0)), state.range(1));
  PaintedRunPtr run = painted(viewed(base), ColourBy::pass);
  show(run, false);
  Chain chain(nullptr, 12'000'000);
  int step = 0;
  for (auto _ : state) {
    Scenario turned =
        chain.changed(base, {fmt::format("/hardware/latency_us={}", 2 + step++ % 50)});
    run = painted_after(viewed_after(chain, std::move(turned)), *run);
    show(run, true);
  }
}

/// With its picture.
void slider_step(benchmark::State& state) {
  TimelineCanvas canvas;
  canvas.resize(1920, 1080);
  QImage image(canvas.size(), QImage::Format_RGB32);
  turn_slider(state, [&](const PaintedRunPtr& run, bool again) {
    canvas.show_runs(run, {}, again);
    if (!again) canvas.leave_out_what_does_not_fit();  // as the window does
    canvas.finish();
    canvas.render(&image);
  });
}

void slider_run(benchmark::State& state) {
  turn_slider(state, [](const PaintedRunPtr&, bool) {});
}
BENCHMARK(slider_run)
    ->Args({16, 64})
    ->Args({16, 256})
    ->Args({64, 1024})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(slider_step)
    ->Args({16, 64})
    ->Args({16, 256})
    ->Args({64, 1024})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  setenv("QT_QPA_PLATFORM", "offscreen", 0);
  QApplication application(argc, argv);
  penstock::apply_theme(penstock::ThemeName::light);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
