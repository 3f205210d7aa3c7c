#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace penstock
