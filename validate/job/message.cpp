#include "validate/job/message.hpp"

#include <fmt/format.h>

namespace penstock {

std::string text(const TensorLabel& label) {
  return fmt::format("the {} of model stage {} for microbatch {}, iteration {}",
                     label.gradient ? "gradient" : "activation", label.model_stage,
                     index(label.microbatch), label.iteration);
}

std::uint64_t checksum(std::span<const std::uint64_t> words) {
  std::uint64_t sum = 0xcbf2'9ce4'8422'2325U;
  for (const std::uint64_t word : words) {
    sum = (sum ^ word) * 0x100'0000'01b3U;
    sum ^= sum >> 32;
  }
  return sum;
}

std::optional<std::string> tensor_fault(const Message& message,
                                        std::span<const std::uint64_t> words,
                                        const TensorLabel& expected) {
  if (message.label != expected) {
    return fmt::format("{} came where {} was expected", text(message.label), text(expected));
  }
  if (checksum(words) != message.sum) {
    return fmt::format("{} arrived with corrupted content", text(expected));
  }
  return std::nullopt;
}

}  // namespace penstock
