#include "experiments/input/files/lenient_json.hpp"

#include "experiments/input/files/plain_text.hpp"

namespace penstock {

void LenientJson::make() {
  constexpr std::size_t longest_character = 4, longest_word = 9;
  const auto goes_on = [&](char byte) {
    if (in_string_) return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
    return (byte >= 'a' && byte <= 'z') || byte == 'N' || byte == 'I';
  };
  const std::size_t most = in_string_ ? longest_character : longest_word;
  do {
    made_ += bytes_.current();
    bytes_.advance();
  } while (made_.size() < most && !bytes_.ended() && goes_on(bytes_.current()));
  if (in_string_) {
    made_ = valid_text(made_);
  } else if (made_ == "NaN" || made_ == "Infinity" || made_ == "-Infinity") {
    made_ = "null";
  }
}

}  // namespace penstock
