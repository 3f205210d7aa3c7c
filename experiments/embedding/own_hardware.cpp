// Prices a model on hardware of one's own, and on that which its scenario names.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "experiments/run/chain.hpp"
#include "experiments/run/run.hpp"

using namespace penstock;

/// A chip by its data sheet: no efficiency, no launches, free collectives within a rank.
struct Chip : HardwareModel {
  double flops_per_us = 500e6, bytes_per_us = 2e6, link_bytes_per_us = 50e3;

  std::optional<double> compute_us(const Layer& layer, Pass pass) const override {
    double us = 0;
    for (const Kernel& kernel : layer.work.kernels) {
      const bool forward = kernel.pass == Pass::forward;
      const bool runs = pass == Pass::backward ? !forward : pass == kernel.pass;
      if (runs)
        us += kernel.count * std::max(kernel.flops / flops_per_us, kernel.bytes / bytes_per_us);
    }
    return us;
  }
  TransferTime transfer(double bytes, Rank, Rank) const override {
    return {.occupies_us = bytes / link_bytes_per_us, .latency_us = 2};
  }
};

int main(int, char** arguments) {
  Layout layout = settle(read_scenario(arguments[1]));
  std::printf("%s\n", title_of(layout).c_str());
  const double stated_ms = to_us(run(layout).report->makespan) / 1000;
  const Simulated own = std::get<Simulated>(Chain().simulate(layout, std::make_shared<Chip>()));
  const double own_ms = to_us(makespan(own.priced.plan, own.timeline)) / 1000;
  std::printf("step %.0f ms as stated, %.0f ms on this chip\n", stated_ms, own_ms);
}
