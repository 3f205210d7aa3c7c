#include "validate/machine/host.hpp"

#include <doctest/doctest.h>

namespace penstock::testing {

// What proprietary and open kernel modules say, by the pattern of their first lines.
TEST_CASE("host: the version of the NVIDIA driver is that of its kernel module") {
  CHECK(nvidia_driver("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  Tue Mar  3\n"
                      "GCC version:  gcc version 12.2.0\n") == "580.159.03");
  CHECK(nvidia_driver("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release "
                      "Build  (root@host)\n") == "580.65.06");
}

TEST_CASE("host: where no NVIDIA driver is read, there is no version of it") {
  CHECK_FALSE(nvidia_driver(""));
  CHECK_FALSE(nvidia_driver("NVRM version: NVIDIA UNIX x86_64 Kernel Module of 2026 .\n"));
  CHECK_FALSE(nvidia_driver("NVRM version: none\nGCC version:  gcc version 12.2.0\n"));
}

}  // namespace penstock::testing
