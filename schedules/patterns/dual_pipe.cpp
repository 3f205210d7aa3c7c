#include "schedules/patterns/dual_pipe.hpp"

#include <deque>

namespace penstock {
namespace {

class Row {
 public:
  Row(DualPipeSide in, DualPipeSide back)
      : in_{in.stage, in.first_microbatch, in.first_microbatch},
        back_{back.stage, back.first_microbatch, back.first_microbatch} {}

  std::vector<Action> build(std::uint32_t half, std::uint32_t place, std::uint32_t microbatches) {
    const std::uint32_t inside = half - place - 1;
    for (std::uint32_t k = 0; k < 2 * inside; ++k) forward(in_);
    for (std::uint32_t k = 0; k < place + 1; ++k) forward(in_), forward(back_);
    for (std::uint32_t k = 0; k < inside; ++k) input(back_), weight(), forward(back_);
    for (std::uint32_t k = 0; k < microbatches - 2 * half + place + 1; ++k) {
      overlap(in_, back_, /*apart=*/k == 0 && inside == 0);
      overlap(back_, in_, /*apart=*/false);
    }
    for (std::uint32_t k = 0; k < inside; ++k) backward(back_), overlap(back_, in_, false);
    // Split the backward from the middle of this phase on: this leaves W for the end.
    bool split = false;
    for (std::uint32_t k = 0; k < place + 1; ++k) {
      if (k == (place + 1) / 2 && place % 2 == 1) split = true;
      split ? input(back_) : backward(back_);
      if (k == (place + 1) / 2 && place % 2 == 0) split = true;
      split ? input(in_) : backward(in_);
    }
    for (std::uint32_t k = 0; k < inside; ++k) weight(), input(in_);
    for (std::uint32_t k = 0; k < place + 1; ++k) weight();
    return std::move(order_);
  }

 private:
  /// A stage and the next microbatch of its forwards and backwards.
  struct Side {
    Stage stage;
    std::uint32_t forwards;
    std::uint32_t backwards;
  };

  void forward(Side& side) {
    order_.emplace_back(Pass::forward, side.stage, Microbatch{side.forwards++});
  }
  void backward(Side& side) {
    order_.emplace_back(Pass::backward, side.stage, Microbatch{side.backwards++});
  }
  void input(Side& side) {
    order_.emplace_back(Pass::backward_input, side.stage, Microbatch{side.backwards});
    weights_.emplace_back(Pass::backward_weight, side.stage, Microbatch{side.backwards++});
  }
  /// The oldest pending W of either side.
  void weight() {
    order_.push_back(weights_.front());
    weights_.pop_front();
  }
  void overlap(Side& ahead, Side& behind, bool apart) {
    forward(ahead);
    order_.back().with_next = !apart;
    backward(behind);
  }

  Side in_;
  Side back_;
  std::vector<Action> order_;
  std::deque<Action> weights_;
};

}  // namespace

std::vector<Action> dual_pipe_row(std::uint32_t half, std::uint32_t place,
                                  std::uint32_t microbatches, DualPipeSide in, DualPipeSide back) {
  return Row(in, back).build(half, place, microbatches);
}

}  // namespace penstock
