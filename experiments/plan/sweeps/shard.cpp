#include "experiments/plan/sweeps/shard.hpp"

#include <fmt/format.h>

#include <string_view>

#include "experiments/input/files/plain_text.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t most_shards = 1'000'000;

/// A number of the environment; nothing if it is not set.
std::optional<std::uint64_t> number_of(Environment environment, const char* name) {
  const char* text = environment(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  if (const auto value = whole_number<std::uint64_t>(text)) return value;
  throw UsageError(fmt::format(
      "{}={}: expected a whole number; --shard I/N says which part this is", name, text));
}

std::optional<FoundShard> slurm_shard(Environment environment) {
  const auto task = number_of(environment, "SLURM_ARRAY_TASK_ID");
  if (!task) return std::nullopt;
  const auto count = number_of(environment, "SLURM_ARRAY_TASK_COUNT");
  const std::uint64_t first = number_of(environment, "SLURM_ARRAY_TASK_MIN").value_or(0);
  const std::uint64_t step = number_of(environment, "SLURM_ARRAY_TASK_STEP").value_or(1);
  const bool fits = count && step > 0 && *task >= first && (*task - first) % step == 0 &&
                    (*task - first) / step < *count;
  if (!fits) {
    throw UsageError(
        fmt::format("SLURM_ARRAY_TASK_ID={}: the array is not of the form FIRST-LAST or "
                    "FIRST-LAST:STEP; --shard I/N says which part this is",
                    *task));
  }
  if (*count == 1) {
    throw UsageError(
        fmt::format("SLURM_ARRAY_TASK_ID={}: an array of one task may be the whole sweep or a part "
                    "of it that runs again; --shard I/N says which, such as --shard 3/4 or 1/1",
                    *task));
  }
  return FoundShard{{(*task - first) / step + 1, *count}, "SLURM_ARRAY_TASK_ID"};
}

std::optional<FoundShard> mpi_shard(Environment environment) {
  const auto rank = number_of(environment, "OMPI_COMM_WORLD_RANK");
  const auto size = number_of(environment, "OMPI_COMM_WORLD_SIZE");
  if (!rank || !size || *rank >= *size) return std::nullopt;
  return FoundShard{{*rank + 1, *size}, "OMPI_COMM_WORLD_RANK"};
}

std::string replaced(std::string text, std::string_view what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), by);
    at += by.size();
  }
  return text;
}

}  // namespace

std::uint64_t Shard::size(std::uint64_t total) const {
  return total < number ? 0 : (total - number) / count + 1;
}

Shard shard_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::string_view all(text);
  if (slash != std::string::npos) {
    const auto number = whole_number<std::uint64_t>(all.substr(0, slash)),
               count = whole_number<std::uint64_t>(all.substr(slash + 1));
    if (number && count && *number >= 1 && *number <= *count && *count <= most_shards) {
      return {*number, *count};
    }
  }
  throw UsageError(fmt::format("--shard {}: expected I/N, with I from 1 to N", text));
}

std::optional<FoundShard> shard_from_environment(Environment environment) {
  const auto task = slurm_shard(environment), rank = mpi_shard(environment);
  if (!task || !rank) return task ? task : rank;
  const Shard& outer = task->shard;
  const Shard& inner = rank->shard;
  return FoundShard{{(outer.number - 1) * inner.count + inner.number, outer.count * inner.count},
                    task->from + " and " + rank->from};
}

std::string file_of_shard(const std::string& name, const Shard& shard) {
  return replaced(replaced(name, "%i", std::to_string(shard.number)), "%n",
                  std::to_string(shard.count));
}

}  // namespace penstock
