#include <array>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/formats/graphs/profile_model.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/measure/reproduction/paper.hpp"
#include "experiments/plan/sweeps/space/read_sweep.hpp"
#include "experiments/program/commands/registry.hpp"

namespace penstock::schema_file {
namespace {

struct Schema {
  const char* name;
  std::string_view (*text)();
};
constexpr std::array schemas{Schema{"scenario", scenario_schema_text},
                             Schema{"profile", profile_schema}, Schema{"paper", paper_schema},
                             Schema{"catalogue", catalogue_schema}, Schema{"sweep", sweep_schema}};

struct Options : Arguments {
  Text kind = line.required_choice("KIND", words_of(schemas), "the kind of file");
};

int print_schema(const Options& options) {
  for (const Schema& schema : schemas) {
    if (options.kind == schema.name) show(schema.text());
  }
  return ExitCode::done;
}

}  // namespace

constinit extern const CommandEntry schema_entry{
    .name = "schema",
    .summary = "print the JSON schema of a kind of file",
    .group = CommandGroup::help,
    .example = "penstock schema scenario > scenario.schema.json",
    .declare = command<Options, print_schema>,
};

}  // namespace penstock::schema_file
