#include "validate/backends/multi/multi_calls.hpp"

#include <doctest/doctest.h>

#include "tests/support/fake_cluster.hpp"

namespace penstock::testing {
namespace {

const GpuCalls* (*asked_calls)() = nullptr;
bool was_asked = false;

const GpuCalls* remembered() {
  was_asked = true;
  return asked_calls();
}

}  // namespace

TEST_CASE("GPU count: another process asks for GPUs, not this one") {
  const FakeCluster cluster(3);
  asked_calls = cluster.calls().gpu;
  const GpuCount count = count_gpus(remembered);
  CHECK(count.gpus == 3);
  CHECK(count.why_none.empty());
  CHECK_FALSE(was_asked);
}

TEST_CASE("GPU count: none is a reason, not a number") {
  const FakeCluster cluster(0);
  const GpuCount count = count_gpus(cluster.calls().gpu);
  CHECK(count.gpus == 0);
  CHECK(count.why_none == "no GPU: the driver sees none");
}

}  // namespace penstock::testing
