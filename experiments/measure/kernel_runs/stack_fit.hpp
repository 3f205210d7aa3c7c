#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/run/timing/kernel_timing.hpp"

namespace penstock {

/// How long one run of something took, in the middle of many in a row.
struct SustainedTime {
  double us = 0;
  double runs = 0;
  double spread = 0;  // median deviation of groups of runs, of `us`
  double mhz = 0;     // 0: not seen
  double watts = 0;
  double host_us = 0;  // that the host took to issue it; 0: not seen

  /// Whether it may be the host's time: the kernels are not longer than it takes to launch them.
  bool waits_for_host() const { return host_us > 0.8 * us; }
};

struct KernelRow {
  std::string part;  // "products bf16"
  KernelQuestion question;
  SustainedTime time;
};

/// Layers that ran forward and backward, one after the other.
struct LayersRow {
  std::string part;
  std::string layers;  // JSON, as in a scenario
  std::uint32_t sequence = 1;
  std::uint32_t examples = 1;
  std::string dtype;
  bool held_back = false;           // nothing is fitted to it
  SustainedTime forward, backward;  // without those of the host, where they are known

  bool waits_for_host() const { return forward.waits_for_host() || backward.waits_for_host(); }
};

/// What time_kernels.py wrote on a machine.
struct KernelRun {
  std::string device, torch;
  std::vector<KernelRow> kernels;
  std::vector<LayersRow> layers;
  std::vector<std::string> failed;  // "part: what PyTorch said"
};

/// Reads its lines; a last one that is cut off is left out. Throws InputError with the file's name
/// in front.
KernelRun read_kernel_run(const std::string& path);

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
