#include "experiments/commands/registry.hpp"

int main(int argc, char** argv) { return penstock::run_program(argc, argv); }
