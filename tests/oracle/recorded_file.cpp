#include "tests/oracle/recorded_file.hpp"

#include <cstdlib>

#include "experiments/input/files/files.hpp"

namespace penstock::testing {

std::string recorded_file(const std::string& file) {
  return read_file(std::string(std::getenv("PENSTOCK_ORACLES")) + "/orders/" + file);
}

}  // namespace penstock::testing
