#include "experiments/input/files/spilled_list.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <random>

namespace penstock {
namespace {

constexpr std::size_t block_records = SpilledList<std::uint64_t>::block_records;

std::vector<std::uint64_t> some_numbers(std::size_t count) {
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(random() % 100'000);
  return numbers;
}

SpilledList<std::uint64_t> list_of(const std::vector<std::uint64_t>& numbers) {
  SpilledList<std::uint64_t> list;
  for (const std::uint64_t number : numbers) list.push_back(number);
  return list;
}

TEST_CASE("spilled list: it holds what was added, in order and by number, of any length") {
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, block_records, block_records + 1, 3 * block_records + 17}) {
    CAPTURE(count);
    const std::vector<std::uint64_t> numbers = some_numbers(count);
    const SpilledList<std::uint64_t> list = list_of(numbers);
    CHECK(list.size() == count);
    CHECK(list.empty() == (count == 0));
    CHECK(std::vector<std::uint64_t>(list.begin(), list.end()) == numbers);
    for (std::size_t i = 0; i < count; i += 9973) CHECK(list[i] == numbers[i]);
  }
}

TEST_CASE("spilled list: sorted, its records come as from a sorted vector") {
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{3}, 2 * block_records, 5 * block_records + 1}) {
    CAPTURE(count);
    std::vector<std::uint64_t> numbers = some_numbers(count);
    const SpilledList<std::uint64_t> list = list_of(numbers);
    SortedRecords sorted(list, std::less<>());
    std::vector<std::uint64_t> read;
    while (const std::uint64_t* const next = sorted.next()) read.push_back(*next);
    CHECK(sorted.next() == nullptr);
    std::sort(numbers.begin(), numbers.end());
    CHECK(read == numbers);
  }
}

}  // namespace
}  // namespace penstock
