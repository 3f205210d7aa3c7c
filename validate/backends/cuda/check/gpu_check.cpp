// Checks one GPU, without the rest of Penstock. From the root of the tree,
//
//   d=validate/backends/cuda
//   nvcc -std=c++20 -O2 -arch=sm_90 -I. -o gpu_check $d/gpu_*.cpp $d/*/*.cpp $d/*.cu
//
// and then, for everything,
//
//   ./gpu_check --all FOLDER --programs PROGRAMS
//
// Each step is a process of its own: one that fails, or takes too long, does not end the others.
// Without a GPU it says so, exit 4; where a step fails, exit 1.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "validate/backends/cuda/check/check_steps.hpp"
#include "validate/backends/cuda/check/step_process.hpp"
#include "validate/backends/cuda/gpu_device.hpp"
#include "validate/backends/cuda/gpu_libraries.hpp"

namespace penstock {
namespace {

constexpr int failed = 1;
constexpr int wrong_usage = 2;
constexpr int machine_cannot = 4;

struct CheckArguments {
  std::string folder;    // of --all, or of a single step
  std::string step;      // one of the steps; empty: all
  std::string programs;  // folder of program files
  bool quick = false;
};

int usage() {
  std::fprintf(stderr,
               "penstock_gpu_check --all FOLDER [--programs FOLDER] [--quick] [--step NAME]\n"
               "penstock_gpu_check --libraries\n"
               "steps:\n");
  for (const CheckStep& step : check_steps()) {
    std::fprintf(stderr, "  %-14s %s\n", step.name, step.summary);
  }
  return wrong_usage;
}

std::optional<CheckArguments> read_arguments(int argc, char** argv) {
  CheckArguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--quick") {
      arguments.quick = true;
      continue;
    }
    std::string* const value = option == "--all"        ? &arguments.folder
                               : option == "--programs" ? &arguments.programs
                               : option == "--step"     ? &arguments.step
                                                        : nullptr;
    if (value == nullptr || i + 1 == argc) return std::nullopt;
    *value = argv[++i];
  }
  const auto steps = check_steps();
  const bool known =
      arguments.step.empty() || std::any_of(steps.begin(), steps.end(), [&](const CheckStep& step) {
        return arguments.step == step.name;
      });
  if (arguments.folder.empty() || !known) return std::nullopt;
  return arguments;
}

std::vector<NamedProgram> programs_in(const std::string& folder) {
  std::vector<std::string> files;
  if (folder.empty()) return {};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".program") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<NamedProgram> programs;
  for (const std::string& file : files) {
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    try {
      programs.push_back(read_program(text));
    } catch (const std::exception& error) {
      throw std::runtime_error(file + ": " + error.what());
    }
  }
  return programs;
}

int ask_for_gpu() {
  const auto reason = why_no_gpu(*cuda_calls());
  if (!reason) return 0;
  std::fprintf(stderr, "penstock_gpu_check: %s\n", reason->c_str());
  return machine_cannot;
}

/// In this process.
int run_step(const CheckArguments& arguments) {
  if (const int code = ask_for_gpu()) return code;
  const CheckOutput output(arguments.folder);
  const CheckRun run{*cuda_calls(), output, programs_in(arguments.programs), arguments.quick};
  for (const CheckStep& step : check_steps()) {
    if (arguments.step == step.name) step.run(run);
  }
  if (output.wrong_facts() == 0) return 0;
  std::fprintf(stderr,
               "penstock: error: %llu lines of %s/facts.jsonl say what failed or is wrong\n",
               static_cast<unsigned long long>(output.wrong_facts()), arguments.folder.c_str());
  return failed;
}

/// Each step in a process of its own; this one asks nothing of the driver.
int run_all(const CheckArguments& arguments) {
  constexpr std::chrono::seconds most{240};  // of a step
  const ProcessEnd asked = run_apart(ask_for_gpu, most);
  if (!asked.code) {
    std::fprintf(stderr, "penstock_gpu_check: asking for a GPU: %s\n", asked.fault.c_str());
  }
  if (const int code = asked.code.value_or(failed)) return code;
  const CheckOutput output(arguments.folder);
  int result = 0;
  for (const CheckStep& step : check_steps()) {
    CheckArguments own = arguments;
    own.step = step.name;
    const auto begin = std::chrono::steady_clock::now();
    const std::string fault = run_apart([&] { return run_step(own); }, most).fault;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%-14s %6.1f s  %s\n", step.name, took.count(),
                fault.empty() ? "done" : fault.c_str());
    std::fflush(stdout);
    output.facts(
        "step",
        {{"name", json(step.name)}, {"seconds", json(took.count())}, {"fault", json(fault)}});
    if (!fault.empty()) result = failed;
  }
  return result;
}

/// What is looked up when a program runs, and can be without a GPU.
int print_libraries() {
  const GpuLibrary nccl = load_library(places_of_library("libnccl.so.2"), "ncclGetVersion");
  std::printf("NCCL: %s\n", nccl.handle == nullptr ? "not found" : nccl.file.c_str());
  const std::string why_not = cuda_calls()->why_no_products();
  if (!why_not.empty()) {
    std::printf("no matrix products: %s\n", why_not.c_str());
    return machine_cannot;
  }
  std::printf("cuBLASLt %u: %s\n", cuda_calls()->product_library(),
              cuda_calls()->product_library_file());
  return 0;
}

int run_check(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--libraries") == 0) return print_libraries();
  const auto arguments = read_arguments(argc, argv);
  if (!arguments) return usage();
  return arguments->step.empty() ? run_all(*arguments) : run_step(*arguments);
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  return penstock::code_of([&] { return penstock::run_check(argc, argv); });
}
