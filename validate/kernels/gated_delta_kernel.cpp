#include <cmath>

#include "validate/kernels/recurrent_kernels.hpp"
#include "validate/kernels/steps/layer_steps.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock::gated_delta_kernel_file {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// A head has a matrix as its state, which holds values by keys. A token decays it, replaces part of
// what it holds for the token's key by the token's value, and reads it with the query. Queries and
// keys have length 1.

constexpr double length_epsilon = 1e-6;

/// A vector of length 1, and what the gradient of it is before.
struct Direction {
  explicit Direction(const VectorXd& of)
      : scale(1 / std::sqrt(of.squaredNorm() + length_epsilon)), unit(scale * of) {}
  VectorXd gradient(const VectorXd& above) const {
    return scale * (above - above.dot(unit) * unit);
  }

  double scale;
  VectorXd unit;
};

class Scan final : public RecurrentScan {
 public:
  explicit Scan(const LayerNumbers& numbers)
      : keys_(eigen_index(size_of(numbers, "key_heads"))),
        values_(eigen_index(size_of(numbers, "value_heads"))),
        key_(eigen_index(size_of(numbers, "key_dim"))),
        value_(eigen_index(size_of(numbers, "value_dim"))) {
    const auto count = [](Index number) { return static_cast<std::size_t>(number); };
    sizes_ = {.hidden = size_of(numbers, "hidden"),
              .convolved = count(2 * keys_ * key_ + values_ * value_),
              .inner = count(values_ * value_),
              .steps = count(2 * values_),
              .conv = size_of(numbers, "conv"),
              .normed = count(value_),
              .gate_first = false};
  }

  RecurrentSizes sizes() const override { return sizes_; }

  std::vector<WeightSpec> weights() const override {
    constexpr double usual = 0.3;
    return {{sizes_.steps / 2, 1, usual}, {sizes_.steps / 2, 1, usual}};
  }

  MatrixXd run(const ScanInput& in, const VectorXd* weights) const override {
    MatrixXd out(values_ * value_, in.steps.cols());
    for (Index head = 0; head < values_; ++head) {
      MatrixXd state = MatrixXd::Zero(key_, value_);
      for (Index token = 0; token < in.steps.cols(); ++token) {
        const Token one = token_of(in, weights, head, token);
        state = one.after(one.decay * state);
        out.col(token).segment(head * value_, value_) =
            scale() * state.transpose() * one.query.unit;
      }
    }
    return out;
  }

  ScanInput gradient(const ScanInput& in, const VectorXd* weights, const MatrixXd& above,
                     VectorXd* sums) const override {
    ScanInput before{MatrixXd::Zero(in.convolved.rows(), in.convolved.cols()),
                     MatrixXd::Zero(in.steps.rows(), in.steps.cols())};
    for (Index head = 0; head < values_; ++head) {
      head_gradient(in, weights, above, head, before, sums);
    }
    return before;
  }

 private:
  enum Own : std::size_t { rate, step_bias };

  struct Token {
    Direction query, key;
    VectorXd value;
    double share, decay, raw;

    VectorXd missing(const MatrixXd& decayed) const {
      return value - decayed.transpose() * key.unit;
    }
    MatrixXd after(const MatrixXd& decayed) const {
      return decayed + share * key.unit * missing(decayed).transpose();
    }
  };

  double scale() const { return 1 / std::sqrt(static_cast<double>(key_)); }
  Index query_at(Index head) const { return head * keys_ / values_ * key_; }
  Index key_at(Index head) const { return keys_ * key_ + query_at(head); }
  Index value_at(Index head) const { return 2 * keys_ * key_ + head * value_; }

  /// Steps hold the shares of all heads, then their decays.
  Token token_of(const ScanInput& in, const VectorXd* weights, Index head, Index token) const {
    const auto column = in.convolved.col(token);
    const double raw = in.steps(values_ + head, token) + weights[step_bias][head];
    return {Direction(column.segment(query_at(head), key_)),
            Direction(column.segment(key_at(head), key_)),
            column.segment(value_at(head), value_),
            sigmoid(in.steps(head, token)),
            std::exp(-std::exp(weights[rate][head]) * softplus(raw)),
            raw};
  }

  std::vector<MatrixXd> states_of(const ScanInput& in, const VectorXd* weights, Index head) const {
    std::vector<MatrixXd> states{MatrixXd::Zero(key_, value_)};
    for (Index token = 0; token < in.steps.cols(); ++token) {
      const Token one = token_of(in, weights, head, token);
      states.push_back(one.after(one.decay * states.back()));
    }
    return states;
  }

  void head_gradient(const ScanInput& in, const VectorXd* weights, const MatrixXd& above,
                     Index head, ScanInput& before, VectorXd* sums) const {
    const std::vector<MatrixXd> states = states_of(in, weights, head);
    MatrixXd of_state = MatrixXd::Zero(key_, value_);
    for (Index token = in.steps.cols() - 1; token >= 0; --token) {
      const Token one = token_of(in, weights, head, token);
      const auto at = static_cast<std::size_t>(token);
      const VectorXd own = scale() * above.col(token).segment(head * value_, value_);
      const MatrixXd decayed = one.decay * states[at];
      const VectorXd missing = one.missing(decayed);
      auto column = before.convolved.col(token);
      of_state += one.query.unit * own.transpose();
      column.segment(query_at(head), key_) += one.query.gradient(states[at + 1] * own);
      const VectorXd of_missing = one.share * of_state.transpose() * one.key.unit;
      column.segment(value_at(head), value_) += of_missing;
      column.segment(key_at(head), key_) +=
          one.key.gradient(one.share * of_state * missing - decayed * of_missing);
      before.steps(head, token) =
          one.key.unit.dot(of_state * missing) * one.share * (1 - one.share);
      of_state -= one.key.unit * of_missing.transpose();
      const double speed = std::exp(weights[rate][head]);
      const double of_log = of_state.cwiseProduct(decayed).sum();
      sums[rate][head] -= of_log * speed * softplus(one.raw);
      const double of_raw = -of_log * speed * sigmoid(one.raw);
      before.steps(values_ + head, token) = of_raw;
      sums[step_bias][head] += of_raw;
      of_state *= one.decay;
    }
  }

  Index keys_, values_, key_, value_;
  RecurrentSizes sizes_;
};

}  // namespace

constinit extern const KernelEntry gated_delta_kernel_entry = recurrent_kernel<Scan>("gated_delta");

}  // namespace penstock::gated_delta_kernel_file
