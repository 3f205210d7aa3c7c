#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/measure/kernel_runs/kernel_rows.hpp"

namespace penstock {

/// A constant of a stack, fitted to some kernels.
struct FittedShare {
  std::string name;  // "matrix_share"
  double value = 1;
  std::size_t rows = 0;
};

/// Something that was timed, and what the device's file with the fitted shares says.
struct JudgedKernel {
  std::string part;
  std::string what;  // "4096 x 12288 x 4096", "forward of …"
  double measured_us = 0;
  double predicted_us = 0;
  bool fitted = false;

  double error() const { return predicted_us / measured_us - 1; }
};

/// What a framework makes of one device, from kernels timed there.
struct StackFit {
  std::string hardware;   // the device in the catalogue
  std::string seen;       // the device as PyTorch names it
  std::string attention;  // the device's kernel that is nearest; empty: it has none
  std::vector<FittedShare> shares;
  std::vector<JudgedKernel> rows;
  std::vector<std::string> left_out;  // "streams: bf16 bytes 1e+06": as slow as the host issued it
  std::vector<std::string> failed;
  double least_watts = 0, most_watts = 0;  // of the kernels; 0: not seen
};

/// Fits shares of the rates of a device, or of a machine's device, to a run. Products give the
/// share of each precision, attention its own, norms the passes over memory. Everything else is
/// judged, but for what waited for the host. Throws InputError for a precision that the device
/// lacks.
StackFit fit_stack(const KernelRun& run, const Catalogue& catalogue, const std::string& hardware);

/// The stack as a file of the catalogue. `file` is where it was measured.
nlohmann::ordered_json stack_file(const StackFit& fit, const std::string& name,
                                  const std::string& file);

std::string stack_fit_text(const StackFit& fit);
nlohmann::ordered_json stack_fit_json(const StackFit& fit);

}  // namespace penstock
