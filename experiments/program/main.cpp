#include "experiments/input/long_work/interruption.hpp"
#include "experiments/program/commands/registry.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

int main(int argc, char** argv) {
#ifdef __GLIBC__
  // A run makes a few large arrays after each other. To the kernel and back for each of them takes
  // a tenth of its time.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 16 << 20);
#endif
  penstock::take_up_signals();
  return penstock::run_program(argc, argv);
}
