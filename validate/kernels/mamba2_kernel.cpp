#include <cmath>

#include "validate/kernels/recurrent_kernels.hpp"
#include "validate/kernels/steps/layer_steps.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock::mamba2_kernel_file {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// A head has a matrix as its state. A token multiplies it by a decay, adds the product of what
// comes in with the head's numbers, and reads it with what goes out. Groups of heads share the
// latter two.

class Scan final : public RecurrentScan {
 public:
  explicit Scan(const LayerNumbers& numbers)
      : heads_(eigen_index(size_of(numbers, "heads"))),
        size_(eigen_index(size_of(numbers, "head_dim"))),
        state_(eigen_index(size_of(numbers, "state"))),
        groups_(eigen_index(size_of(numbers, "groups"))) {
    const auto count = [](Index number) { return static_cast<std::size_t>(number); };
    sizes_ = {.hidden = size_of(numbers, "hidden"),
              .convolved = count(heads_ * size_ + 2 * groups_ * state_),
              .inner = count(heads_ * size_),
              .steps = count(heads_),
              .conv = size_of(numbers, "conv"),
              .normed = numbers.is("norm") ? count(heads_ * size_) : 0,
              .gate_first = true,
              .conv_bias = numbers.is("conv_bias"),
              .in_bias = numbers.is("in_bias"),
              .out_bias = numbers.is("out_bias")};
  }

  RecurrentSizes sizes() const override { return sizes_; }

  std::vector<WeightSpec> weights() const override {
    constexpr double usual = 0.3;
    return {{sizes_.steps, 1, usual}, {sizes_.steps, 1, usual}, {sizes_.steps, 1, usual, 1}};
  }

  MatrixXd run(const ScanInput& in, const VectorXd* weights) const override {
    MatrixXd out(heads_ * size_, in.steps.cols());
    for (Index head = 0; head < heads_; ++head) {
      MatrixXd state = MatrixXd::Zero(state_, size_);
      for (Index token = 0; token < in.steps.cols(); ++token) {
        const Token one = token_of(in, weights, head, token);
        state = one.decay * state + one.step * one.into * one.own.transpose();
        out.col(token).segment(head * size_, size_) =
            state.transpose() * one.out_of + weights[skip][head] * one.own;
      }
    }
    return out;
  }

  ScanInput gradient(const ScanInput& in, const VectorXd* weights, const MatrixXd& above,
                     VectorXd* sums) const override {
    ScanInput before{MatrixXd::Zero(in.convolved.rows(), in.convolved.cols()),
                     MatrixXd::Zero(in.steps.rows(), in.steps.cols())};
    for (Index head = 0; head < heads_; ++head)
      head_gradient(in, weights, above, head, before, sums);
    return before;
  }

 private:
  enum Own : std::size_t { rate, step_bias, skip };

  struct Token {
    double step, decay;
    VectorXd own, into, out_of;
  };

  Index into_at(Index head) const { return heads_ * size_ + head * groups_ / heads_ * state_; }
  Index out_of_at(Index head) const { return into_at(head) + groups_ * state_; }

  Token token_of(const ScanInput& in, const VectorXd* weights, Index head, Index token) const {
    const auto column = in.convolved.col(token);
    const double step = softplus(in.steps(head, token) + weights[step_bias][head]);
    return {step, std::exp(-std::exp(weights[rate][head]) * step),
            column.segment(head * size_, size_), column.segment(into_at(head), state_),
            column.segment(out_of_at(head), state_)};
  }

  std::vector<MatrixXd> states_of(const ScanInput& in, const VectorXd* weights, Index head) const {
    std::vector<MatrixXd> states{MatrixXd::Zero(state_, size_)};
    for (Index token = 0; token < in.steps.cols(); ++token) {
      const Token one = token_of(in, weights, head, token);
      states.push_back(one.decay * states.back() + one.step * one.into * one.own.transpose());
    }
    return states;
  }

  void head_gradient(const ScanInput& in, const VectorXd* weights, const MatrixXd& above,
                     Index head, ScanInput& before, VectorXd* sums) const {
    const std::vector<MatrixXd> states = states_of(in, weights, head);
    MatrixXd of_state = MatrixXd::Zero(state_, size_);
    for (Index token = in.steps.cols() - 1; token >= 0; --token) {
      const Token one = token_of(in, weights, head, token);
      const auto at = static_cast<std::size_t>(token);
      const VectorXd own = above.col(token).segment(head * size_, size_);
      auto column = before.convolved.col(token);
      of_state += one.out_of * own.transpose();
      column.segment(out_of_at(head), state_) += states[at + 1] * own;
      column.segment(into_at(head), state_) += one.step * of_state * one.own;
      column.segment(head * size_, size_) +=
          weights[skip][head] * own + one.step * of_state.transpose() * one.into;
      sums[skip][head] += own.dot(one.own);
      const double of_decay = of_state.cwiseProduct(states[at]).sum() * one.decay;
      const double speed = std::exp(weights[rate][head]);
      const double of_step = one.into.dot(of_state * one.own) - of_decay * speed;
      sums[rate][head] -= of_decay * speed * one.step;
      const double raw = in.steps(head, token) + weights[step_bias][head];
      before.steps(head, token) = of_step * sigmoid(raw);
      sums[step_bias][head] += of_step * sigmoid(raw);
      of_state *= one.decay;
    }
  }

  Index heads_, size_, state_, groups_;
  RecurrentSizes sizes_;
};

}  // namespace

constinit extern const KernelEntry mamba2_kernel_entry = recurrent_kernel<Scan>("mamba2");

}  // namespace penstock::mamba2_kernel_file
