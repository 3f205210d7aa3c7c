#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/support/layers.hpp"

namespace penstock::testing {

TEST_CASE("torchgpipe: one device with two microbatches runs at 6/7 of the speed without them") {
  // A bottleneck of ResNet: each convolution's input and weight gradients take what it takes.
  const Layers bottleneck = {
      spec("conv", {{"channels_in", 256}, {"channels_out", 64}, {"height", 56}, {"width", 56}}),
      spec("conv", {{"channels_in", 64},
                    {"channels_out", 64},
                    {"height", 56},
                    {"width", 56},
                    {"kernel", 3}}),
      spec("conv", {{"channels_in", 64}, {"channels_out", 256}, {"height", 56}, {"width", 56}})};
  const LayerWork work = work_of(bottleneck);
  const double forward = flops_of(work, Pass::forward);
  const double backward =
      flops_of(work, Pass::backward_input) + flops_of(work, Pass::backward_weight);
  CHECK(backward == 2 * forward);
  // All but the last microbatch are recomputed: one of two.
  const double plain = 2 * (forward + backward);
  const double factor = plain / (plain + forward);
  CHECK(factor == doctest::Approx(6.0 / 7));
  const auto paper = oracle("papers/torchgpipe.json");
  if (!paper) return;
  int found = 0;
  for (const nlohmann::json& table : (*paper)["tables"]) {
    const std::string name = table["table"];
    if (name != "U-Net (5,64) speed" && name != "ResNet-101 speed") continue;
    const nlohmann::json& rows = table["rows"];
    const double measured =
        rows[1]["samples_per_s"].get<double>() / rows[0]["samples_per_s"].get<double>();
    CHECK(factor == doctest::Approx(measured).epsilon(0.01));
    ++found;
  }
  CHECK(found == 2);
}

}  // namespace penstock::testing
