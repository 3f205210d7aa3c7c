#include "validate/job/message.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace penstock {
namespace {

std::string_view name(TensorKind kind) {
  constexpr std::array<std::string_view, tensor_kinds> names{
      "activation", "gradient", "weight gradients", "early weight gradients", "tied gradient"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace

std::string text(const TensorLabel& label) {
  return fmt::format("the {} of model stage {} for microbatch {}, iteration {}", name(label.kind),
                     label.model_stage, index(label.microbatch), label.iteration);
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
