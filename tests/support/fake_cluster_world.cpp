#include <fmt/format.h>
#include <pthread.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "tests/support/fake_cluster.hpp"
#include "tests/support/fake_cluster_parts.hpp"

namespace penstock::testing {
namespace fakes {
namespace {

std::uint32_t this_host() { return visible_gpu() / cluster->gpus_of_host; }
std::int64_t host_offset_ns() { return std::int64_t{this_host()} * 7'000'000'000; }

void move(std::atomic<std::int64_t>& clock, std::int64_t to_ns) {
  std::int64_t now = clock;
  while (now < to_ns && !clock.compare_exchange_weak(now, to_ns)) continue;
}

}  // namespace

FakeCluster* cluster = nullptr;
World* world = nullptr;
Process process;

std::uint32_t visible_gpu() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible == nullptr ? 0 : static_cast<std::uint32_t>(std::atoi(visible));
}

void move_host(std::int64_t to_ns) {
  move(process.host_ns, to_ns);
  move(world->host_ns, to_ns);
}

std::int64_t host_ns() {
  if (!process.reads_clock.exchange(false)) move(process.host_ns, world->host_ns);
  const std::int64_t now = process.host_ns + 50;
  move_host(now);
  return now + host_offset_ns();
}

std::string host() { return fmt::format("host {}", this_host()); }

}  // namespace fakes

FakeCluster::FakeCluster(std::uint32_t count)
    : gpus(count),
      nccl_(fakes::nccl_calls()),
      memory_(std::make_unique<SharedMemory>(sizeof(fakes::World) + 64)) {
  fakes::cluster = this;
  // Zeroed memory is a world without meetings; constructing all would touch every page.
  fakes::world =
      reinterpret_cast<fakes::World*>(memory_->take(sizeof(fakes::World), alignof(fakes::World)));
  fakes::world->host_ns = 1'000'000;
  fakes::world->moves = 1;
  fakes::process.host_ns = 0;
  fakes::process.reads_clock = false;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&fakes::world->mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

FakeCluster::~FakeCluster() {
  fakes::cluster = nullptr;
  fakes::world = nullptr;
}

MultiCalls FakeCluster::calls() const {
  return {fakes::gpu_calls, &nccl_, fakes::host_ns, fakes::host};
}

std::array<int, 3> FakeCluster::resources(std::uint32_t gpu) const {
  return fakes::world->resources.at(gpu);
}

std::uint32_t FakeCluster::aborts() const { return fakes::world->aborts; }

}  // namespace penstock::testing
