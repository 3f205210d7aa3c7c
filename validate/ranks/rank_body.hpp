#pragma once

#include <span>
#include <variant>
#include <vector>

#include "validate/ranks/busy_body.hpp"
#include "validate/training/layered_body.hpp"

namespace penstock {

/// Words of each transfer's tensor, by task; 0 for actions.
std::vector<std::size_t> tensor_words(const Job& job);

/// The actions of a rank on any backend: they run the job's layers if it has any, otherwise the
/// busy kernel. Used like BusyBody; calls throw OrderFailure when an action lacks an input.
class RankBody {
 public:
  /// Arguments must outlive it. `steps`: of the busy kernel; `words`: as from `tensor_words`.
  RankBody(const Job& job, Rank rank, const BusySteps& steps,
           const std::vector<std::size_t>& words);

  void begin() {
    std::visit([](auto& body) { body.begin(); }, body_);
  }
  std::span<std::uint64_t> room(const Reading& reading) {
    return std::visit([&](auto& body) { return body.room(reading); }, body_);
  }
  void take_in(const Reading& reading) {
    std::visit([&](auto& body) { body.take_in(reading); }, body_);
  }
  void perform(const Step& step) {
    std::visit([&](auto& body) { body.perform(step); }, body_);
  }
  /// Prepares `perform_class`; not timed.
  void prepare_class(std::uint32_t work) {
    std::visit([&](auto& body) { body.prepare_class(work); }, body_);
  }
  void perform_class(std::uint32_t work) {
    std::visit([&](auto& body) { body.perform_class(work); }, body_);
  }
  std::span<const std::uint64_t> made(const Step& step, const TensorSend& sending) {
    return std::visit([&](auto& body) { return body.made(step, sending); }, body_);
  }
  /// Adds the results of its layers in the last run, if it runs any.
  void add_numbers(TrainedNumbers& numbers) const;
  /// Adds the times of its layers in the last run, if they are measured.
  void add_layer_times(TimesOfLayers& times) const;
  /// Adds what encoding did to its activations.
  void add_coding(CodingNumbers& coding) const;

 private:
  std::variant<BusyBody, LayeredBody> body_;
};

}  // namespace penstock
