#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/input/long_work/budget.hpp"
#include "sim/base/error.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "validate/store/database.hpp"

// What libFuzzer calls.

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  penstock::fuzz::chosen_target();
  if (const char* folder = std::getenv("PENSTOCK_FUZZ_SEEDS")) {
    penstock::fuzz::write_seeds(folder);
    std::exit(0);
  }
  // More than a small input needs; whatever wants more must ask.
  penstock::set_budget({100'000'000, "fuzzing"});
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    penstock::fuzz::chosen_target().run(bytes);
  } catch (const penstock::InputError&) {
  } catch (const penstock::UsageError&) {
  } catch (const penstock::OverBudget&) {
  } catch (const penstock::DatabaseError&) {
  }
  return 0;
}

/// Half of the mutations of JSON are those of its values, the others are of bytes.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  using nlohmann::json;
  const penstock::fuzz::Target& target = penstock::fuzz::chosen_target();
  penstock::fuzz::Dice dice(seed);
  if (!target.is_json || dice.below(2) == 0) return LLVMFuzzerMutate(data, size, most);
  json document = json::parse(data, data + size, nullptr, false);
  if (document.is_discarded()) return LLVMFuzzerMutate(data, size, most);
  const json* schema = target.schema == nullptr ? nullptr : &target.schema();
  for (std::size_t n = 1 + dice.below(3); n > 0; --n) {
    penstock::fuzz::mutate(document, schema, dice);
  }
  const std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
