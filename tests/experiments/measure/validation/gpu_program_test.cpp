#include <doctest/doctest.h>

#include <algorithm>

#include "experiments/measure/validation/validation.hpp"
#include "sim/base/error.hpp"
#include "tests/support/fake_gpu.hpp"
#include "tests/support/gpu_recording.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch.hpp"
#include "validate/backends/cuda/check/check_steps.hpp"

namespace penstock::testing {
namespace {

const std::string gpu_programs = PENSTOCK_ROOT "/experiments/calibration/gpu_programs";

Job job_of_file(const std::string& stem) {
  return gpu_job(read_scenario(gpu_programs + "/" + stem + ".json"));
}

/// The structure error of each run of a recording, with the job of its program.
std::vector<double> replayed(const std::string& text, const Job& job) {
  std::vector<double> errors;
  for (Timeline& run : read_gpu_recording(text, job).runs) {
    errors.push_back(replayed_structure_error({job.priced.plan, std::move(run), ""}));
  }
  return errors;
}

std::string program_of(const std::string& recording) {
  const std::size_t at = recording.find("program ") + 8;
  return recording.substr(at, recording.find('\n', at) - at);
}

}  // namespace

// What a GPU with its program leaves is read again as runs of the plan.
TEST_CASE("gpu programs: a recording of each replays without a structure error") {
  const Scratch scratch;
  const FakeGpu gpu;
  const CheckOutput output(scratch.path("recordings"));
  for (const std::string& file : paths_in(gpu_programs, ".json")) {
    NamedProgram named = read_program(gpu_program_file(read_scenario(file)));
    for (GpuTask& task : named.program.tasks) task.bytes = std::min<std::uint64_t>(task.bytes, 256);
    check_programs({gpu.calls(), output, {std::move(named)}, true});
  }
  std::size_t recordings = 0;
  for (const std::string& file : paths_in(scratch.path("recordings/runs"), ".txt")) {
    CAPTURE(file);
    const std::string text = content_of(file);
    const std::vector<double> errors = replayed(text, job_of_file(program_of(text)));
    CHECK(errors.size() == 2);
    for (const double error : errors) CHECK(error == 0);
    ++recordings;
  }
  CHECK(recordings == 7 * 3);
}

TEST_CASE("gpu programs: a recording that is not one of its plan is refused") {
  const Job job = job_of_file("1f1b");
  const auto fault = [&](const std::string& text) {
    return refused_with<InputError>([&] { read_gpu_recording(text, job); });
  };
  const std::string head = "penstock gpu recording 1\nprogram 1f1b\n";
  CHECK(fault("x") == "line 1: expected \"penstock gpu recording 1\"");
  CHECK(fault(head + "speed 1\n") == "line 3: expected program, ordering, links, bodies or run");
  CHECK(fault(head + "run 5 5\n0 a\n") == "line 4: expected begin and end in nanoseconds");
  CHECK(fault(head + "run 5 5\n0 1\n") == "line 1: a run has 1 tasks, the plan 112");
}

}  // namespace penstock::testing
