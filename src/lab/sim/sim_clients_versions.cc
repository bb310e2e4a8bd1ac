// Clients that change workflows while runs are in progress: they register other definitions, move
// runs to them, and repeat runs on them.
#include "base/json_writer.h"
#include "lab/sim/sim_clients.h"
#include "lab/sim/simulation.h"
#include "runs/engine/step_chain.h"
#include "runs/run/run_migration.h"

namespace holdfast::sim {

namespace {

constexpr const char* kNewest = "newest";

}  // namespace

// As a person names it: by its fingerprint, or the newest.
Result<std::shared_ptr<const Definition>> named_definition(Turn& turn, const SharedText& workflow,
                                                           const std::string& name) {
  return name == kNewest ? current_definition(turn, workflow.view())
                         : turn.definitions().pinned(SharedText(name));
}

std::string Clients::some_definition(std::string_view workflow, const Dice& dice) const {
  const auto known = versions_.find(std::string(workflow));
  if (known == versions_.end() || dice.chance(40, "newest")) {
    return kNewest;
  }
  return known->second[dice.below(known->second.size(), "version")];
}

// Another definition becomes the newest of its workflow.
bool Clients::register_newer(const Dice& dice) {
  const auto text = simulation_.scenario().other_definition(dice);
  if (!text.has_value()) {
    return false;
  }
  auto definition = Definition::parse(*text);
  if (!definition.ok()) {
    return false;
  }
  versions_[definition.value()->workflow().str()].push_back(
      definition.value()->fingerprint().str());
  submit(registration_command(definition.value()), dice, 2);
  return true;
}

bool Clients::migrate(const RunProjection& run, const Dice& dice) {
  if (!run.started().has_value()) {
    return false;
  }
  const RunId id = run.run_id();
  const std::string to = some_definition(run.started()->workflow.view(), dice);
  JsonWriter json;
  json.begin_object().member("run_id", to_string(id)).member("to", to).end_object();
  ClientCommand command;
  command.what = Answer::What::migrate;
  command.params = std::move(json).take();
  command.decision = run_decision(id, [to](RunProjection& known, Turn& turn) -> Result<RunFacts> {
    HOLDFAST_TRY(const auto target, named_definition(turn, known.started()->workflow, to));
    HOLDFAST_CHECK(turn.emit_definition(*target));
    return decide_migrate(known, {target, {}}, EngineSurroundings(turn), turn.now());
  });
  submit(command, dice, 2);
  if (dice.chance(20, "repeat")) {
    submit(command, dice.about("repeat"), 2);
  }
  return true;
}

}  // namespace holdfast::sim
