#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace penstock {

/// Part `number` of `count` of a sweep: configurations number - 1, number - 1 + count and so on, so
/// that each part has some of every axis.
struct Shard {
  std::uint64_t number = 1;
  std::uint64_t count = 1;

  /// How many of `total` configurations it has.
  std::uint64_t size(std::uint64_t total) const;
  /// The number in the sweep of its configuration `i`.
  std::uint64_t configuration(std::uint64_t i) const { return number - 1 + i * count; }
};

/// Reads "2/8". Throws UsageError.
Shard shard_of(const std::string& text);

/// Value of an environment variable; nullptr without one.
using Environment = const char* (*)(const char* name);

/// A shard and where it comes from: "SLURM_ARRAY_TASK_ID".
struct FoundShard {
  Shard shard;
  std::string from;
};

/// The shard of a task of a Slurm job array, of a process of Open MPI, or of such a process within
/// such a task. Nothing outside of both. Throws UsageError for variables that fit no array, and for
/// an array of one task, which may be a part that runs again.
std::optional<FoundShard> shard_from_environment(Environment environment);

/// A file name with %i and %n replaced by the number and the count of a shard.
std::string file_of_shard(const std::string& name, const Shard& shard);

}  // namespace penstock
