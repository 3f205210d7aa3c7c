#include "experiments/plan/sweeps/shard.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "sim/base/error.hpp"

namespace penstock::testing {
namespace {

using Variables = std::map<std::string, std::string>;

/// Environments are functions without state.
const Variables*& made_up() {
  static const Variables* variables = nullptr;
  return variables;
}

std::string found(const Variables& variables) {
  made_up() = &variables;
  const auto shard = shard_from_environment([](const char* name) -> const char* {
    const auto value = made_up()->find(name);
    return value == made_up()->end() ? nullptr : value->second.c_str();
  });
  if (!shard) return "none";
  return std::to_string(shard->shard.number) + "/" + std::to_string(shard->shard.count);
}

}  // namespace

TEST_CASE("shards: all of them together have each configuration once") {
  for (const std::uint64_t total : {1U, 7U, 8U, 9U}) {
    std::map<std::uint64_t, int> times;
    for (std::uint64_t number = 1; number <= 4; ++number) {
      const Shard shard{number, 4};
      for (std::uint64_t i = 0; i < shard.size(total); ++i) ++times[shard.configuration(i)];
    }
    CHECK(times.size() == total);
    CHECK(times.rbegin()->first == total - 1);
    for (const auto& [item, count] : times) CHECK(count == 1);
  }
}

TEST_CASE("shards: a part counts from 1 to the number of parts") {
  CHECK(shard_of("2/8").number == 2);
  CHECK(shard_of("2/8").count == 8);
  for (const char* text : {"0/8", "9/8", "2", "2/", "/8", "a/b", "-1/8", "1/0", "1/8/8"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(shard_of(text), UsageError);
  }
}

TEST_CASE("shards: a task of a Slurm array and a process of Open MPI know theirs") {
  CHECK(found({}) == "none");
  CHECK(found({{"SLURM_ARRAY_TASK_ID", "3"},
               {"SLURM_ARRAY_TASK_COUNT", "4"},
               {"SLURM_ARRAY_TASK_MIN", "0"}}) == "4/4");
  CHECK(found({{"SLURM_ARRAY_TASK_ID", "15"},
               {"SLURM_ARRAY_TASK_COUNT", "3"},
               {"SLURM_ARRAY_TASK_MIN", "5"},
               {"SLURM_ARRAY_TASK_STEP", "5"}}) == "3/3");
  CHECK(found({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}}) == "2/2");
  // The second of two processes of the third of three tasks.
  CHECK(found({{"SLURM_ARRAY_TASK_ID", "3"},
               {"SLURM_ARRAY_TASK_COUNT", "3"},
               {"SLURM_ARRAY_TASK_MIN", "1"},
               {"OMPI_COMM_WORLD_RANK", "1"},
               {"OMPI_COMM_WORLD_SIZE", "2"}}) == "6/6");
  CHECK_THROWS_AS(found({{"SLURM_ARRAY_TASK_ID", "9"},
                         {"SLURM_ARRAY_TASK_COUNT", "3"},
                         {"SLURM_ARRAY_TASK_MIN", "1"}}),
                  UsageError);
}

TEST_CASE("shards: %i and %n of a file name are the part and the number of parts") {
  CHECK(file_of_shard("out.%i-of-%n.jsonl", {3, 8}) == "out.3-of-8.jsonl");
  CHECK(file_of_shard("out.jsonl", {3, 8}) == "out.jsonl");
}

}  // namespace penstock::testing
