#include "tests/gui/views/monkey/strange_files.hpp"

#include <filesystem>
#include <string>

#include "experiments/input/formats/torch_csv.hpp"
#include "gui/models/run/viewed_run.hpp"
#include "gui/views/output/run_output.hpp"

namespace penstock::monkey {
namespace {

const std::string sources = PENSTOCK_ROOT;

constexpr const char* layered = R"({"penstock": 1, "model": {"layers": [
  {"forward_us": 1000, "backward_us": 2000, "parameter_bytes": 1e6, "stash_bytes": 1e5},
  {"forward_us": 1000, "backward_us": 2000}, {"forward_us": 700, "backward_us": 2000},
  {"forward_us": 1000, "backward_us": 2000}, {"forward_us": 10, "backward_us": 20}]},
  "hardware": {"name": "ideal", "devices": 2, "transfer_us": 30},
  "schedule": {"name": "1f1b", "microbatches": 4}})";
constexpr const char* one_op = R"({"penstock": 1,
  "model": {"stages": [{"forward_us": 1, "backward_us": 1}]},
  "hardware": {"name": "ideal", "devices": 1}, "schedule": {"name": "gpipe", "microbatches": 1}})";
constexpr const char* swept =
    R"({"item":0,"of":2,"sweep":"1","hash":"2","version":"0.1.0","configuration":)"
    R"({"/schedule/microbatches":4},"result":{"makespan_us":24375.4432}})"
    "\n"
    R"({"item":1,"of":2,"sweep":"1","hash":"3","version":"0.1.0","configuration":)"
    R"({"/schedule/microbatches":"six"},"result":{"finding":"out of memory"}})"
    "\n";

void write_whole_ones(const testing::Scratch& folder) {
  folder.file("layers.json", layered);
  folder.file("one.json", one_op);
  folder.file("sweep.jsonl", swept);
  const std::string first = sources + "/experiments/scenarios/first_run.json";
  folder.file("first.json", testing::content_of(first));
  const ViewedRunPtr run = open_files({first}, {}).front();
  for (const char* name : {"run.timeline", "trace.json", "trace.json.gz"}) {
    export_run(*run, folder.path(name));
  }
  folder.file("order.csv", write_torch_csv(run->layout->schedule).text);
  for (const char* rank : {"rank0.json.gz", "rank1.json.gz"}) {
    folder.file(rank, testing::content_of(sources + "/tests/torch/traces/2.14.1-1f1b/" + rank));
  }
}

/// Half of a file, and all of it with one byte changed in the middle.
void write_damaged(const testing::Scratch& folder, const std::string& name) {
  std::string bytes = testing::content_of(folder.path(name));
  folder.file("half." + name, bytes.substr(0, bytes.size() / 2));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x5a);
  folder.file("damaged." + name, bytes);
  folder.file("empty." + name, "");
}

}  // namespace

QStringList strange_files(const testing::Scratch& folder) {
  write_whole_ones(folder);
  QStringList all;
  for (const char* name : {"first.json", "layers.json", "one.json", "sweep.jsonl", "run.timeline",
                           "trace.json", "trace.json.gz", "order.csv", "rank0.json.gz"}) {
    all << QString::fromStdString(folder.path(name));
    write_damaged(folder, name);
    for (const char* kind : {"half.", "damaged.", "empty."}) {
      all << QString::fromStdString(folder.path(kind + std::string(name)));
    }
  }
  folder.file("noise.timeline", "PENSTOCK\1\2\3 and nothing that was meant");
  std::filesystem::create_directory(folder.path("folder.json"));
  for (const char* name : {"noise.timeline", "absent.json", "absent.jsonl", "folder.json"}) {
    all << QString::fromStdString(folder.path(name));
  }
  return all;
}

}  // namespace penstock::monkey
