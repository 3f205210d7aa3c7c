#include <doctest/doctest.h>
#include <fmt/format.h>

#include <future>
#include <map>
#include <string>
#include <thread>

#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"
#include "validate/launch/mpi/meeting_place.hpp"
#include "validate/launch/rendezvous.hpp"

namespace penstock::testing {
namespace {

using Values = std::map<std::string, std::string>;

Variables those(Values values) {
  return [values](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

std::string launch_text(const Values& values) {
  const auto launch = launch_of(those(values));
  if (!launch) return "none";
  return fmt::format("{} {}: {} of {}, {} here, {}:{}", launch->by, launch->job, launch->rank,
                     launch->ranks, launch->local_rank, launch->address, launch->port);
}

std::string launch_error(const Values& values) {
  return refused_with<UsageError>([&] { launch_of(those(values)); });
}

const Values of_torchrun{{"RANK", "5"},
                         {"WORLD_SIZE", "8"},
                         {"LOCAL_RANK", "1"},
                         {"MASTER_ADDR", "node0"},
                         {"MASTER_PORT", "29400"},
                         {"TORCHELASTIC_RUN_ID", "abc"}};
const Values of_mpirun{{"OMPI_COMM_WORLD_RANK", "1"},
                       {"OMPI_COMM_WORLD_SIZE", "2"},
                       {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                       {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                       {"PMIX_NAMESPACE", "ns"}};
const Values of_srun{{"SLURM_STEP_ID", "0"},        {"SLURM_PROCID", "3"},
                     {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_LOCALID", "1"},
                     {"SLURM_JOB_ID", "77"},        {"SLURM_STEP_NODELIST", "gpu[007-008],x1"}};

Values with(Values values, const std::string& name, const std::string& value) {
  values[name] = value;
  return values;
}

/// A port that was free a moment ago.
std::uint16_t free_port() { return listen_on_port(0).port; }

Launch on_loopback(std::uint32_t rank, std::uint32_t ranks, std::uint16_t port) {
  return {
      .by = "test", .job = "j", .rank = rank, .ranks = ranks, .address = "127.0.0.1", .port = port};
}

std::string meeting_error(const Launch& launch, std::uint64_t plan, Moment end,
                          const Values& values = {}) {
  return refused_with<SocketError>([&] { meet(launch, plan, end, those(values)); });
}

}  // namespace

TEST_CASE("launch: torchrun, mpirun and srun say who this process is") {
  CHECK(launch_text({}) == "none");
  CHECK(launch_text(of_torchrun) == "torchrun abc: 5 of 8, 1 here, node0:29401");
  CHECK(launch_text(of_mpirun) == "Open MPI ns: 1 of 2, 1 here, 127.0.0.1:29501");
  CHECK(launch_text(of_srun) == "Slurm 77: 3 of 4, 1 here, gpu007:29501");
  CHECK(launch_text(with(of_srun, "PENSTOCK_PORT", "4000")) ==
        "Slurm 77: 3 of 4, 1 here, gpu007:4000");
  // A batch script is no task of a step, and one process needs nobody.
  CHECK(launch_text({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}) == "none");
  CHECK(launch_text(with(with(of_torchrun, "WORLD_SIZE", "1"), "RANK", "0")) == "none");
}

TEST_CASE("launch: what a launcher says is checked") {
  CHECK(launch_error(with(of_torchrun, "RANK", "x")) ==
        "RANK=x: expected a number from 0 to 65535");
  CHECK(launch_error(with(of_torchrun, "RANK", "8")) == "RANK=8: expected less than WORLD_SIZE=8");
  CHECK(launch_error({{"RANK", "0"}, {"WORLD_SIZE", "2"}}) ==
        "LOCAL_RANK is not set, though torchrun set RANK");
  const std::string several_hosts =
      launch_error(with(of_mpirun, "OMPI_COMM_WORLD_LOCAL_SIZE", "1"));
  if (has_mpi()) {
    CHECK(several_hosts.empty());  // MPI says it later
  } else {
    CHECK(several_hosts ==
          "Open MPI does not say where rank 0 is: set MASTER_ADDR to the address of its host");
  }
}

TEST_CASE("launch: the first host of a list of Slurm") {
  CHECK(first_host("a") == "a");
  CHECK(first_host("a,b") == "a");
  CHECK(first_host("gpu[003-006,009],login1") == "gpu003");
  CHECK(first_host("a,gpu[3-6]") == "a");
  CHECK(first_host("r[7,9]n,z") == "r7n");
}

TEST_CASE("launch: each process of a host has a GPU of its own") {
  CHECK(gpu_of_rank(std::nullopt, 3) == "3");
  CHECK(gpu_of_rank("4,5,6,7", 2) == "6");
  CHECK(gpu_of_rank("GPU-abc", 3) == "GPU-abc");  // Slurm shows each task its own
  CHECK_THROWS_WITH_AS(gpu_of_rank("4,5", 2),
                       "CUDA_VISIBLE_DEVICES=4,5: 2 GPUs, and this is process 2 of its host",
                       UsageError);
}

TEST_CASE("launch: ranks that come in any order meet at rank 0") {
  constexpr std::uint32_t ranks = 4;
  const std::uint16_t port = free_port();
  const Moment end = after(std::chrono::seconds(20));
  std::vector<std::future<std::vector<Descriptor>>> others;
  for (std::uint32_t rank = ranks - 1; rank > 0; --rank) {
    others.push_back(std::async(std::launch::async, [=] {
      return meet(on_loopback(rank, ranks, port), 42, end, those({}));
    }));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(150));  // they try again
  const auto sockets = meet(on_loopback(0, ranks, port), 42, end, those({}));
  REQUIRE(sockets.size() == ranks);
  CHECK_FALSE(sockets[0]);
  for (std::uint32_t rank = 1; rank < ranks; ++rank) {
    const auto theirs = others[ranks - 1 - rank].get();
    const std::byte sent{static_cast<unsigned char>(rank)};
    send_all(theirs.front(), {&sent, 1}, end);
    std::byte came{};
    CHECK(receive_all(sockets[rank], {&came, 1}, end));
    CHECK(came == sent);
  }
}

TEST_CASE("launch: on a network a token is wanted, and rank 0 listens at its own address alone") {
  Launch launch = on_loopback(0, 2, 4000);
  launch.address = "192.0.2.1";
  CHECK_THROWS_WITH_AS(
      meet(launch, 1, after(std::chrono::milliseconds(50)), those({})),
      "rank 0 listens at 192.0.2.1:4000, where others may connect too: set PENSTOCK_TOKEN to the "
      "same secret word for all processes",
      UsageError);
  const std::string elsewhere =
      meeting_error(launch, 1, after(std::chrono::milliseconds(50)), {{"PENSTOCK_TOKEN", "x"}});
  CHECK(elsewhere.find("MASTER_ADDR must be an address of this host") != std::string::npos);

  // Loopback has many addresses; a listener at one of them does not answer at another.
  const Listener listener = listen_as_host("127.0.0.2", 0);
  CHECK_NOTHROW(connect_to_host("127.0.0.2", listener.port, after(std::chrono::seconds(5))));
  CHECK_THROWS_AS(connect_to_host("127.0.0.1", listener.port, after(std::chrono::milliseconds(50))),
                  SocketError);
  const Listener everywhere = listen_on_port(0);
  CHECK_NOTHROW(connect_to_host("127.0.0.1", everywhere.port, after(std::chrono::seconds(5))));
}

TEST_CASE("launch: another plan, another token and a missing rank are named") {
  const std::uint16_t port = free_port();
  const Moment end = after(std::chrono::seconds(20));
  auto rank0 = std::async(std::launch::async,
                          [=] { return meeting_error(on_loopback(0, 2, port), 42, end); });
  CHECK(meeting_error(on_loopback(1, 2, port), 42, end, {{"PENSTOCK_TOKEN", "x"}}) ==
        fmt::format("rank 0 at 127.0.0.1:{} turned this process away: another job or token", port));
  meeting_error(on_loopback(1, 2, port), 43, end);
  CHECK(rank0.get() == "process 1 has another plan");

  const std::uint16_t other = free_port();
  CHECK(meeting_error(on_loopback(0, 3, other), 1, after(std::chrono::milliseconds(200))) ==
        fmt::format("rank 1 did not connect to 127.0.0.1:{} in time; 0 turned away", other));
}

}  // namespace penstock::testing
