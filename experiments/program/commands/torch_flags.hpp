#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiments/measure/validation/validation.hpp"
#include "experiments/program/commands/line/command_line.hpp"
#include "experiments/program/commands/registry.hpp"

namespace penstock {

/// Options of the backends that run orders in PyTorch, and of no other.
struct TorchFlags {
  std::string model;
  std::optional<std::uint32_t> quiet;
};

inline void declare(CommandLine& line, TorchFlags& flags) {
  line.option("--model", flags.model, "torch_*: layers of your own, from layer(number)", "FILE.py");
  line.option("--quiet", flags.quiet,
              "torch_*: seconds to wait for a quiet machine, at most; default 60");
}

/// Throws UsageError for a wait that is too long.
inline TorchOptions torch_options(const TorchFlags& flags) {
  constexpr std::uint32_t most_s = 86'400;
  TorchOptions torch{.model = flags.model};
  if (!flags.quiet) return torch;
  if (*flags.quiet > 0) within("--quiet", flags.quiet, most_s);
  torch.quiet_s = *flags.quiet;
  return torch;
}

/// One of these options that is given; nothing if none is.
inline const char* given(const TorchFlags& flags) {
  if (flags.quiet) return "--quiet";
  return flags.model.empty() ? nullptr : "--model";
}

}  // namespace penstock
