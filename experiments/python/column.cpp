#include "experiments/python/column.hpp"

#include <limits>
#include <stdexcept>
#include <utility>

namespace penstock::python {
namespace {

struct Texts {
  std::vector<std::int32_t> begins;
  std::string bytes;
};

}  // namespace

std::string_view Column::text(std::int64_t row) const {
  if (type == ColumnType::code) {
    return categories[static_cast<std::size_t>(static_cast<const std::int8_t*>(values)[row])];
  }
  const auto* begins = static_cast<const std::int32_t*>(values);
  return {bytes + begins[row], static_cast<std::size_t>(begins[row + 1] - begins[row])};
}

Column text_column(std::string name, const std::vector<std::string_view>& texts) {
  const auto held = std::make_shared<Texts>();
  held->begins.reserve(texts.size() + 1);
  held->begins.push_back(0);
  for (const std::string_view text : texts) {
    held->bytes += text;
    if (held->bytes.size() > std::numeric_limits<std::int32_t>::max()) {
      throw std::length_error(name + ": more than 2 GiB of text in one column");
    }
    held->begins.push_back(static_cast<std::int32_t>(held->bytes.size()));
  }
  Column column = column_of(std::move(name), ColumnType::text, held->begins, held);
  --column.length;  // the last one is the end
  column.bytes = held->bytes.data();
  return column;
}

}  // namespace penstock::python
