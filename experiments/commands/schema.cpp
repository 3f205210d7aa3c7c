#include <fmt/format.h>

#include <array>

#include "experiments/catalogue/catalogue.hpp"
#include "experiments/commands/registry.hpp"
#include "experiments/formats/graphs/profile_model.hpp"
#include "experiments/reproduction/paper.hpp"
#include "experiments/scenario/scenario.hpp"
#include "experiments/sweeps/space/read_sweep.hpp"

namespace penstock {
namespace {

struct Schema {
  const char* kind;
  std::string_view (*text)();
};
constexpr std::array schemas{Schema{"scenario", scenario_schema}, Schema{"profile", profile_schema},
                             Schema{"paper", paper_schema}, Schema{"catalogue", catalogue_schema},
                             Schema{"sweep", sweep_schema}};

Runner declare(CommandLine& line) {
  auto kind = std::make_shared<std::string>();
  std::vector<std::string> kinds;
  for (const Schema& schema : schemas) kinds.emplace_back(schema.kind);
  line.required_choice("KIND", *kind, kinds, "the kind of file");
  return [kind] {
    for (const Schema& schema : schemas) {
      if (*kind == schema.kind) show(schema.text());
    }
    return ExitCode::done;
  };
}

}  // namespace

constinit extern const CommandEntry schema_entry{
    .name = "schema",
    .summary = "print the JSON schema of a kind of file",
    .group = CommandGroup::help,
    .example = "penstock schema scenario > scenario.schema.json",
    .declare = declare,
};

}  // namespace penstock
