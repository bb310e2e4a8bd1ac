#include "runs/inspect/live_run_view.h"

namespace holdfast {

RunSource live_source(Turn& turn, const RunProjection& run) {
  RunSource source{&run, {}, turn.state().position(), turn.now()};
  source.read_outcome = [&turn](const SharedText& queue, Outcome& outcome) {
    // What cannot be read is not shown.
    static_cast<void>(turn.state().queues().read_outcome(queue, outcome).ok());
  };
  source.queues = turn.state().queues().about(run.run_id());
  return source;
}

FindRun live_finder(Turn& turn) {
  return [&turn](const RunId& id) -> Result<std::optional<RunSource>> {
    auto known = turn.state().runs().get(id);
    if (known.ok()) {
      return std::optional(live_source(turn, *known.value()));
    }
    return known.error().code() == ErrorCode::run_not_found
               ? Result<std::optional<RunSource>>(std::nullopt)
               : Result<std::optional<RunSource>>(known.error());
  };
}

Result<Explanation> explain_in_turn(Turn& turn, const RunId& run) {
  HOLDFAST_TRY(const RunProjection* known, turn.state().runs().get(run));
  return explain_run(live_source(turn, *known), live_finder(turn));
}

}  // namespace holdfast
