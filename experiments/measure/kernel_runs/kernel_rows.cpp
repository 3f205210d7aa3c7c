#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/fields/fields.hpp"
#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/json_lines.hpp"
#include "experiments/measure/kernel_runs/stack_fit.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

const std::vector<Field>& time_fields() {
  using T = SustainedTime;
  static const std::vector<Field> fields{
      field<&T::us>("us", positive_number(1e12)), field<&T::runs>("runs", whole(1)),
      field<&T::spread>("spread", number(0)),     field<&T::mhz>("mhz", number(0)),
      field<&T::watts>("watts", number(0)),       field<&T::host_us>("host_us", number(0))};
  return fields;
}

const Fields& whole_time_fields() {
  static const Fields fields{"", time_fields(), {"us"}};
  return fields;
}

const Fields& kernel_row_fields() {
  using K = KernelRow;
  using Q = KernelQuestion;
  static const std::vector<Field> times = within<&K::time>(time_fields());
  static const Fields fields =
      with({"",
            {field<&K::part>("part", text()), field<&K::question, &Q::kind>("kind", full_text()),
             field<&K::question, &Q::dtype>("dtype", full_text()),
             field<&K::question, &Q::sizes>("sizes", map_of(number()))},
            {"part", "kind", "dtype", "sizes", "us"}},
           {&times});
  return fields;
}

const Fields& passes_fields() {
  static const Fields fields{
      "",
      {{"forward", object_of(whole_time_fields())}, {"backward", object_of(whole_time_fields())}},
      {"forward", "backward"}};
  return fields;
}

const Fields& layers_row_fields() {
  using L = LayersRow;
  static const Fields fields =
      with({"",
            {field<&L::part>("part", text()),
             {"layers", list_of(nlohmann::ordered_json{{"type", "object"}}, 1)},
             field<&L::sequence>("sequence", whole(1, 1'000'000'000)),
             field<&L::examples>("examples", whole(1, 1'000'000)),
             field<&L::dtype>("dtype", full_text()),
             field<&L::held_back>("held_back", truth()),
             {"graphed", object_of(passes_fields())},
             {"why_no_graphs", text()}},
            {"part", "layers", "sequence", "examples", "dtype", "forward", "backward"}},
           {&passes_fields().fields});
  return fields;
}

const Fields& machine_fields() {
  using R = KernelRun;
  static const Fields fields{"",
                             {{"penstock", whole(1, 1)},
                              field<&R::device>("device", full_text()),
                              field<&R::torch>("torch", text()),
                              {"multiprocessors", whole(1)},
                              {"memory_bytes", number(0)},
                              {"cuda", or_null(text())}},
                             {"penstock", "device"}};
  return fields;
}

void check(const Fields& fields, const json& line) { Schema(schema_of(fields)).check(line); }

void add_row(const json& line, KernelRun& run) {
  if (line.contains("failed")) {
    run.failed.push_back(fmt::format("{}: {}", line.value("part", ""), line.value("failed", "")));
  } else if (line.contains("layers")) {
    check(layers_row_fields(), line);
    LayersRow& row = run.layers.emplace_back();
    read_fields(layers_row_fields(), line, &row);
    row.layers = line["layers"].dump();
    if (line.contains("why_no_graphs")) {
      run.failed.push_back(
          fmt::format("{} as CUDA graphs: {}", row.part, line["why_no_graphs"].get<std::string>()));
    }
    const json& passes = line.contains("graphed") ? line["graphed"] : line;
    read_fields(whole_time_fields(), passes["forward"], &row.forward);
    read_fields(whole_time_fields(), passes["backward"], &row.backward);
  } else {
    check(kernel_row_fields(), line);
    read_fields(kernel_row_fields(), line, &run.kernels.emplace_back());
  }
}

}  // namespace

KernelRun read_kernel_run(const std::string& path) {
  KernelRun run;
  for_each_json_line(path, [&](const json& line) {
    if (!run.device.empty()) return add_row(line, run);
    check(machine_fields(), line);
    read_fields(machine_fields(), line, &run);
  });
  if (run.kernels.empty()) throw in_file(path, InputError("", "it has no kernel"));
  return run;
}

}  // namespace penstock
