#include "tests/support/amoebanet.hpp"

namespace penstock::testing {
namespace {

/// Appends cells; each reduction doubles the channels and halves the sides.
class Builder {
 public:
  explicit Builder(double filters) : channels_(filters / 4) {
    before_ = in_ = channels_;
    layers_.push_back(spec("conv", {{"channels_in", 3},
                                    {"channels_out", channels_},
                                    {"height", 224},
                                    {"width", 224},
                                    {"kernel", 3},
                                    {"stride", 2},
                                    {"relu", 1},
                                    {"batch_norm", 1}}));
  }

  void reduce() {
    channels_ *= 2;
    add("amoebanet_reduction", 3);
    side_ /= 2;
    after_reduction_ = 1;
  }

  void normal(double cells) {
    for (double i = 0; i < cells; ++i) {
      add("amoebanet_normal", 4);
      after_reduction_ = 0;
    }
  }

  Layers finish() {
    layers_.push_back(spec(
        "classifier", {{"channels", in_}, {"classes", 1000}, {"height", side_}, {"width", side_}}));
    return std::move(layers_);
  }

 private:
  void add(std::string_view kind, double joined) {
    layers_.push_back(spec(kind, {{"channels_before", before_},
                                  {"channels_in", in_},
                                  {"channels", channels_},
                                  {"height", side_},
                                  {"width", side_},
                                  {"after_reduction", after_reduction_}}));
    before_ = in_;
    in_ = joined * channels_;
  }

  Layers layers_;
  double side_ = 112;
  double channels_ = 0;
  double before_ = 0;
  double in_ = 0;
  double after_reduction_ = 0;
};

}  // namespace

Layers amoebanet(double layers, double filters) {
  Builder builder(filters);
  builder.reduce();
  builder.reduce();
  builder.normal(layers / 3);
  for (int i = 0; i < 2; ++i) {
    builder.reduce();
    builder.normal(layers / 3);
  }
  return builder.finish();
}

}  // namespace penstock::testing
