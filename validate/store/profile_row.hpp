#pragma once

#include <map>
#include <string>
#include <vector>

namespace penstock {

/// A measured point: a kernel at one shape, under one condition.
struct KernelPoint {
  std::string kernel;     // "gemm", or a kind of layer: "mlp"
  std::string pass;       // "forward", "backward_input", "backward_weight"; empty: none
  std::string shape;      // its sizes, by name in order: "k=64 m=32 n=128"
  std::string condition;  // "solo", or the run around it: "insitu:1f1b"
  friend bool operator==(const KernelPoint&, const KernelPoint&) = default;
};

/// A measurement, with what is needed to check that it is still valid.
struct ProfileRow {
  KernelPoint point;
  std::string build;                               // hash of the kernel's source and flags
  std::map<std::string, std::string> environment;  // where it was measured
  double canary_ns = 0;                            // time of a fixed piece of work at that moment
  std::vector<double> samples_ns;                  // raw, in the order they were taken
  std::string measured_at;                         // UTC, "2026-11-21T18:40:00Z"
};

}  // namespace penstock
