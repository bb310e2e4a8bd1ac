// How the core carries out the requests of the loop's callers: one operation for each kind.
#include "runs/engine/engine_core.h"

namespace holdfast {

namespace {

struct RequestHandler {
  Core& core;
  Definitions& definitions;

  void operator()(CommandPtr& command) const { core.post(std::move(command)); }
  void operator()(const ClaimRequestPtr& request) const { core.request_claim(request); }
  void operator()(const WithdrawClaim& withdraw) const {
    withdraw.done(core.withdraw_request(withdraw.request, withdraw.done));
  }
  void operator()(const DropClaim& drop) const { core.drop(drop.claim_id); }
  void operator()(const SetProgress& set) const { core.set_progress(set.claim_id, set.progress()); }
  void operator()(const CheckForChanges& check) const {
    if (!check.at.has_value() || *check.at == core.position()) {
      core.check_for_changes();
    }
  }
  void operator()(const WatchChanges& /*watch*/) const {
    core.add_watcher();
    core.check_for_changes();
  }
  void operator()(const UnwatchChanges& /*unwatch*/) const { core.remove_watcher(); }
  void operator()(const AddRunWait& add) const { core.run_waits().add(add.wait); }
  void operator()(const RemoveRunWait& remove) const { core.run_waits().remove(remove.wait); }
  void operator()(const AddDefinition& add) const {
    definitions.add(add.definition);
    core.definitions_changed();
    add.done();
  }
  void operator()(const DefinitionsChanged& /*changed*/) const { core.definitions_changed(); }
  void operator()(const ReadStats& read) const { read.done(core.stats()); }
};

}  // namespace

void Core::handle(std::vector<LoopRequest> requests) {
  for (LoopRequest& request : requests) {
    std::visit(RequestHandler{*this, definitions_}, request);
  }
}

}  // namespace holdfast
