#include "experiments/input/scenario/overheads_section.hpp"

namespace penstock {

const Fields& overheads_fields() {
  using O = OverheadsSection;
  static const Fields fields{
      "overheads of actions and transfers",
      {note(),
       field<&O::optimizer_us>("optimizer_us", time_us(),
                               "of the update of a stage at the end of the iteration; on a machine "
                               "of the catalogue, where not given, what its memory takes to move "
                               "parameters, gradients and what the optimizer keeps"),
       field<&O::warm_up_us>("warm_up_us", time_us(),
                             "extra time of the first iteration; default: that of the machine"),
       field<&O::launch_us>("launch_us", time_us(), "delay from issuing an action to its start"),
       field<&O::issue_us>("issue_us", time_us(), "time of the host of a rank to issue one action"),
       field<&O::host_us>("host_us", time_us(),
                          "time of the host between two actions that it runs itself, as on CPUs"),
       field<&O::compute_slowdown>("compute_slowdown_by_transfer", number(1, 1e6),
                                   "of an action while a transfer of its rank or a collective of "
                                   "its own pass is in flight"),
       field<&O::transfer_slowdown>("transfer_slowdown_by_compute", number(1, 1e6),
                                    "of a transfer while one of its ranks runs an action, and of "
                                    "collectives that a pass overlaps")}};
  return fields;
}

}  // namespace penstock
