#include "lab/sim/sim_clients.h"

#include <sstream>

#include "base/json_writer.h"
#include "lab/sim/sim_words.h"
#include "lab/sim/simulation.h"
#include "runs/engine/step_chain.h"
#include "runs/facts/activation.h"
#include "runs/language/data/iso8601.h"
#include "runs/run/run_planning.h"
#include "runs/service/circuit_commands.h"

namespace holdfast::sim {

namespace {

constexpr int kFewTries = 3;
constexpr int kManyTries = 200;

RunId drawn_id(const Dice& dice, std::string_view what) {
  SeededRandom random(dice.number(what));
  return RunId{make_uuid(TimeMs{SimClock::kBegin}, random)};
}

// A refusal that may be temporary.
bool may_pass(const std::string& code) {
  static const std::set<std::string> passing{"unknown_workflow", "conflict", "busy",
                                             "unavailable",      "io_error", "disk_full",
                                             "log_stopped"};
  return passing.contains(code);
}

std::string started_text(const Started& started) {
  return R"({"run_id":")" + to_string(started.run_id) + R"(","existed":)" +
         (started.existed ? "true}" : "false}");
}

}  // namespace

Request::Decision run_decision(const RunId& id, DecideRun decide) {
  return [id, decide = std::move(decide)](Turn& turn) -> Result<std::string> {
    HOLDFAST_TRY(RunProjection * run, turn.state().runs().get(id));
    if (run->definition() == nullptr) {
      return Error{ErrorCode::unknown_workflow, "the definition is unknown"};
    }
    HOLDFAST_TRY(const RunFacts facts, decide(*run, turn));
    HOLDFAST_CHECK(emit_with_attempts(turn, id, facts));
    return std::string("{}");
  };
}

// A client whose command is in doubt submits it again, usually to another process.
void Clients::submit(const ClientCommand& command, const Dice& dice, int tries) {
  if (command.registration != 0 && command.registration != registrations_) {
    return;  // there is a newer one
  }
  Process* process = simulation_.some_process(dice.about("try", static_cast<std::uint64_t>(tries)));
  if (process == nullptr) {
    if (tries > 0) {
      simulation_.schedule().after(500 * kMs, [=, this] { submit(command, dice, tries - 1); });
    }
    return;
  }
  simulation_.note("client -> " + process->name() + " " + command.params);
  process->submit(std::make_shared<Request>(
      *process, command.what, command.params, command.decision, [=, this](const Reply& reply) {
        simulation_.note("client <- " + (reply.in_doubt() ? "no answer" : reply.code) + " to " +
                         command.params);
        // With many tries, the client also waits until the store works and the workflow is
        // registered.
        const bool insists = tries > kFewTries && may_pass(reply.code);
        if ((reply.in_doubt() || insists) && tries > 0) {
          simulation_.schedule().after(100 * kMs, [=, this] { submit(command, dice, tries - 1); });
        }
      }));
}

void Clients::submit_until_answered(const ClientCommand& command, const Dice& dice) {
  submit(command, dice, kManyTries);
  if (simulation_.has(Fault::stale) && dice.chance(30, "again")) {
    const auto pause = static_cast<std::int64_t>(dice.below(60'000, "pause")) * kMs;
    simulation_.schedule().after(pause, [=, this] { submit(command, dice.about("again"), 1); });
  }
}

void Clients::send_event(const RunId& run, const SendEvent& event, const Dice& dice) {
  submit_until_answered(
      event_command(run, event.event.str(), event.correlation.str(),
                    std::string(event.payload.view()), event.source.idempotency_key.str()),
      dice);
}

void Clients::resolve(const RunId& run, const std::string& step, ManualAction action,
                      const Dice& dice) {
  // A parked step may be parked again: each decision has its own key.
  const bool parked = action == ManualAction::retried || action == ManualAction::discarded;
  const std::string key = "decision-" + step + (parked ? "-" + std::to_string(++draws_) : "");
  submit_until_answered(resolve_command(run, step, action, key), dice);
}

void Clients::cancel(const RunId& run, OnCancel how, const Dice& dice) {
  submit_until_answered(cancel_command(run, how, "cancel"), dice);
}

void Clients::register_workflows(bool faults_ended) {
  ++registrations_;
  for (const std::string& text : simulation_.scenario().definitions(faults_ended)) {
    auto definition = Definition::parse(text);
    if (!definition.ok()) {
      simulation_.report_violation("a definition of the scenario is invalid: " +
                                   definition.error().text());
      return;
    }
    auto& versions = versions_[definition.value()->workflow().str()];
    if (versions.empty()) {
      versions.push_back(definition.value()->fingerprint().str());
    }
    submit(registration_command(definition.value()), simulation_.dice().about("register", ++draws_),
           50);
  }
}

Clients::ClientCommand Clients::registration_command(
    std::shared_ptr<const Definition> definition) const {
  ClientCommand command;
  command.what = Answer::What::registration;
  command.params = R"({"definition":")" + definition->fingerprint().str() + "\"}";
  command.decision = [known = std::move(definition)](Turn& turn) -> Result<std::string> {
    turn.definitions().keep(known);
    HOLDFAST_CHECK(turn.emit_registration(*known));
    return std::string("{}");
  };
  command.registration = registrations_;
  return command;
}

bool Clients::act(Act act, const Dice& dice) {
  static const std::map<Act, bool (Clients::*)(const Dice&)> acts{
      {Act::start, &Clients::start},
      {Act::start_again, &Clients::start_again},
      {Act::cancel, &Clients::cancel},
      {Act::register_again, &Clients::register_again},
      {Act::register_newer, &Clients::register_newer},
      {Act::pause_schedule, &Clients::pause_schedule},
      {Act::close_circuit, &Clients::close_circuit},
  };
  static const std::map<Act, bool (Clients::*)(const RunProjection&, const Dice&)> acts_on_a_run{
      {Act::event, &Clients::send_event}, {Act::resolve, &Clients::resolve},
      {Act::replay, &Clients::replay},    {Act::attributes, &Clients::set_attributes},
      {Act::archive, &Clients::archive},  {Act::mutate_graph, &Clients::mutate_graph},
      {Act::migrate, &Clients::migrate},
  };
  if (const auto known = acts.find(act); known != acts.end()) {
    return (this->*known->second)(dice);
  }
  const auto known = acts_on_a_run.find(act);
  const RunProjection* run = known == acts_on_a_run.end() ? nullptr : some_run(dice);
  return run != nullptr && (this->*known->second)(*run, dice);
}

bool Clients::register_again(const Dice& /*dice*/) {
  register_workflows(false);
  return true;
}

Clients::ClientCommand Clients::start_command(const RunId& id, const StartRequest& start) {
  JsonWriter json;
  json.begin_object()
      .member("run_id", to_string(id))
      .member("workflow", start.workflow)
      .member("input", JsonText::trusted(start.input))
      .end_object();
  ClientCommand command;
  command.params = std::move(json).take();
  command.decision = [start, id](Turn& turn) -> Result<std::string> {
    HOLDFAST_TRY(const auto definition, current_definition(turn, start.workflow));
    StartRun new_run;
    new_run.run_id = id;
    new_run.definition = definition;
    new_run.input = Payload::trusted(start.input);
    new_run.trigger = start.trigger;
    HOLDFAST_TRY(const Started started, start_run(turn, new_run, IdOrigin::given));
    return started_text(started);
  };
  return command;
}

// Two schedulers deliver it, or one that has not heard the answer.
void Clients::deliver(const DeliverWindow& window, const Dice& dice) {
  const ScheduleWindow& time = *window.delivered.window;
  JsonWriter json;
  json.begin_object()
      .member("workflow", window.workflow.view())
      .member("trigger", window.trigger.view())
      .member("signal_id", window.delivered.signal_id.view())
      .member("start_at", iso8601_time(time.start_at))
      .member("end_at", iso8601_time(*time.end_at))
      .end_object();
  ClientCommand command;
  command.what = Answer::What::delivery;
  command.params = std::move(json).take();
  command.decision = [window, dice, calls = std::make_shared<std::uint64_t>(0)](
                         Turn& turn) -> Result<std::string> {
    DeliverWindow call = window;
    call.fresh = drawn_id(dice.about("call", ++*calls), "run");
    HOLDFAST_TRY(const Delivered delivered, deliver_window(turn, call));
    return R"({"result":")" + std::string(to_text(delivered.outcome)) + R"(","run_id":")" +
           to_string(delivered.run_id) + R"("})";
  };
  submit(command, dice, kFewTries);
  if (dice.chance(60, "twice")) {
    submit(command, dice.about("twice"), kFewTries);
  }
}

// A schedule of the engine or of another scheduler is paused, or resumed again.
bool Clients::pause_schedule(const Dice& dice) {
  const auto schedules = simulation_.scenario().schedules();
  if (schedules.empty()) {
    return false;
  }
  const auto& [workflow, trigger] = schedules[dice.below(schedules.size(), "schedule")];
  const ScheduleChange change{SharedText(workflow), SharedText(trigger), "ann", {}};
  const bool pauses = dice.chance(60, "pauses");
  JsonWriter json;
  json.begin_object()
      .member("workflow", workflow)
      .member("trigger", trigger)
      .member("paused", pauses)
      .end_object();
  ClientCommand command;
  command.what = Answer::What::schedule;
  command.params = std::move(json).take();
  command.decision = [change, pauses](Turn& turn) -> Result<std::string> {
    HOLDFAST_CHECK(pauses ? turn.emit(SchedulePaused{change}) : turn.emit(ScheduleResumed{change}));
    return std::string("{}");
  };
  submit(command, dice, 2);
  return true;
}

// An operator closes the circuit breaker of a step: usually one that is open, for which it watches
// a minute.
bool Clients::close_circuit(const Dice& dice) { return close_circuit_within(dice, 60); }

bool Clients::close_circuit_within(const Dice& dice, int seconds) {
  std::vector<StepType> open;
  std::vector<StepType> known;
  for (const auto& [name, queue] : simulation_.audit().queues) {
    for (const auto& [type, circuit] : queue->circuits()) {
      (circuit.is_open() ? open : known).push_back(type);
    }
  }
  const bool from_open = dice.chance(85, "an open one");
  if (from_open && open.empty() && seconds > 0) {
    simulation_.schedule().after(kSecond, [=, this] { close_circuit_within(dice, seconds - 1); });
    return true;
  }
  const std::vector<StepType>& types = from_open ? open : known;
  if (types.empty()) {
    return false;
  }
  const StepType& type = types[dice.below(types.size(), "step")];
  CloseCircuitRequest request;
  request.workflow = type.workflow.str();
  request.step = type.step.str();
  request.actor = "ann";
  request.reason = "repaired";
  ClientCommand command;
  command.what = Answer::What::close_circuit;
  JsonWriter json;
  json.begin_object().member("workflow", request.workflow).member("step", request.step);
  command.params = std::move(json.end_object()).take();
  command.decision = [request](Turn& turn) -> Result<std::string> {
    HOLDFAST_TRY(const CloseCircuitResponse closed, holdfast::close_circuit(request)(turn));
    return response_json(closed);
  };
  submit(command, dice, 2);
  return true;
}

bool Clients::start(const Dice& dice) {
  if (const auto window = simulation_.scenario().delivery(dice)) {
    deliver(*window, dice);
    return true;
  }
  starts_.emplace_back(drawn_id(dice, "run"), simulation_.scenario().start(dice));
  const ClientCommand command = start_command(starts_.back().first, starts_.back().second);
  simulation_.observer() == nullptr ? submit(command, dice, kFewTries)
                                    : submit_until_answered(command, dice);
  return true;
}

// The same start again, or a different one under the same id.
bool Clients::start_again(const Dice& dice) {
  if (starts_.empty()) {
    return false;
  }
  const auto& [id, before] = starts_[dice.below(starts_.size(), "which")];
  submit(start_command(id, dice.chance(60, "same") ? before : simulation_.scenario().start(dice)),
         dice, 1);
  return true;
}

const RunProjection* Clients::some_run(const Dice& dice) const {
  const auto& runs = simulation_.runs();
  if (runs.empty()) {
    return nullptr;
  }
  // Usually a live one.
  std::vector<const RunProjection*> live;
  for (const RunId& id : runs) {
    const auto found = simulation_.audit().runs.find(id);
    if (found != simulation_.audit().runs.end() && !found->second->is_terminal()) {
      live.push_back(found->second.get());
    }
  }
  if (!live.empty() && dice.chance(85, "a live one")) {
    return live[dice.below(live.size(), "live run")];
  }
  const auto found = simulation_.audit().runs.find(runs[dice.below(runs.size(), "run")]);
  return found == simulation_.audit().runs.end() ? nullptr : found->second.get();
}

Clients::ClientCommand Clients::event_command(const RunId& run, const std::string& event,
                                              const std::string& correlation,
                                              const std::string& payload, const std::string& key) {
  SendEvent command;
  command.event = event;
  command.correlation = correlation;
  command.payload = Payload::trusted(payload);
  command.source.idempotency_key = key;
  JsonWriter json;
  json.begin_object()
      .member("run_id", to_string(run))
      .member("event", event)
      .member("correlation", correlation)
      .member("payload", JsonText::trusted(payload))
      .member("key", key)
      .end_object();
  return ClientCommand{Answer::What::event, std::move(json).take(),
                       run_decision(run, [command](RunProjection& known, Turn& turn) {
                         return decide_receive_event(known, command, EngineSurroundings(turn),
                                                     turn.now());
                       })};
}

bool Clients::send_event(const RunProjection& run, const Dice& dice) {
  std::string event = dice.chance(50, "e") ? "e" : "f";
  std::string correlation;
  for (const auto& [id, wait] : run.waits()) {
    if (wait.status == WaitStatus::waiting && dice.chance(70, id)) {
      event = wait.opened.event.str();
      correlation = wait.opened.correlation.str();
    }
  }
  // There are only a few keys, so that some are used twice, for the same or for another event.
  const std::string key = "k" + std::to_string(dice.below(6, "key"));
  const std::string payload =
      dice.chance(80, "payload") ? simulation_.scenario().event_payload(event, dice) : "{}";
  submit(event_command(run.run_id(), event, correlation, payload, key), dice, 2);
  return true;
}

Clients::ClientCommand Clients::resolve_command(const RunId& run, const std::string& step,
                                                ManualAction action, const std::string& key) {
  ResolveStep command;
  command.action = action;
  command.step = step;
  command.source.actor = "ann";
  command.source.idempotency_key = key;
  JsonWriter json;
  json.begin_object()
      .member("run_id", to_string(run))
      .member("step", step)
      .member("action", to_text(action))
      .member("actor", "ann")
      .member("key", key);
  // What the engine does by itself takes no input.
  const auto audited = simulation_.audit().runs.find(run);
  const ManualState* parked = audited == simulation_.audit().runs.end()
                                  ? nullptr
                                  : audited->second->parked(SharedText(step));
  const bool fault = parked != nullptr && is_fault(*audited->second, *parked);
  if (action == ManualAction::retried && step.size() % 2 == 0 && !fault) {
    command.input = Payload::trusted(R"({"n":2,"corrected":true})");
    json.member("input", JsonText::trusted(std::string(command.input.view())));
  }
  json.end_object();
  return ClientCommand{Answer::What::resolve, std::move(json).take(),
                       run_decision(run, [command](RunProjection& known, Turn& turn) {
                         return decide_resolve(known, command, EngineSurroundings(turn),
                                               turn.now());
                       })};
}

bool Clients::resolve(const RunProjection& run, const Dice& dice) {
  std::string step = "s" + std::to_string(dice.below(8, "step"));
  ManualAction action = static_cast<ManualAction>(dice.below(5, "action"));
  for (const auto& [name, state] : run.boundaries()) {
    if (state.kind != BoundaryKind::event_wait && dice.chance(70, name.view())) {
      const auto decided = simulation_.scenario().decide(state, dice, false);
      step = name.str();
      action = decided.value_or(action);
    }
  }
  const std::string key =
      dice.chance(50, "keyed") ? "r" + std::to_string(dice.below(4, "key")) : "";
  submit(resolve_command(run.run_id(), step, action, key), dice, 2);
  return true;
}

Clients::ClientCommand Clients::cancel_command(const RunId& run, OnCancel how,
                                               const std::string& key) {
  CommandSource source;
  source.actor = "ann";
  source.idempotency_key = key;
  JsonWriter json;
  json.begin_object()
      .member("run_id", to_string(run))
      .member("how", to_text(how))
      .member("key", key)
      .end_object();
  return ClientCommand{Answer::What::cancel, std::move(json).take(),
                       run_decision(run, [source, how](RunProjection& known, Turn& turn) {
                         return decide_cancel(known, source, how, EngineSurroundings(turn),
                                              turn.now());
                       })};
}

bool Clients::cancel(const Dice& dice) {
  const RunProjection* run = some_run(dice);
  const bool missing = run == nullptr || dice.chance(5, "nobody");
  const RunId id = missing ? drawn_id(dice, "nobody") : run->run_id();
  submit(cancel_command(id, static_cast<OnCancel>(dice.below(3, "how")), ""), dice, 2);
  return true;
}

// Redrives the attempt that failed the run, or discards it; often twice, and the other way as well.
bool Clients::decide_dead_letter(const RunProjection& run, const Dice& dice) {
  const RunId source = run.run_id();
  const bool redrives = dice.chance(70, "redrive");
  JsonWriter json;
  json.begin_object().member("run_id", to_string(source)).end_object();
  ResolveDeadLetter command;
  command.action = redrives ? DeadLetterEnd::redriven : DeadLetterEnd::discarded;
  command.source.actor = "ann";
  ClientCommand decided{
      redrives ? Answer::What::redrive : Answer::What::discard, std::move(json).take(),
      redrives ? Request::Decision([source, command](Turn& turn) -> Result<std::string> {
        HOLDFAST_TRY(const Started started, redrive_dead_letter(turn, source, command));
        return started_text(started);
      })
               : run_decision(source, [command](RunProjection& known, Turn& turn) {
                   return decide_resolve_dead_letter(known, command, turn.now());
                 })};
  submit(decided, dice, 2);
  if (dice.chance(50, "repeat")) {
    submit(decided, dice.about("repeat"), 2);
  }
  return true;
}

bool Clients::replay(const RunProjection& run, const Dice& dice) {
  if (run.is_terminal() && run.terminal()->exhausted.has_value() && dice.chance(70, "letter")) {
    return decide_dead_letter(run, dice);
  }
  ReplayRun command;
  command.run_id = drawn_id(dice, "replay");
  command.allow_irreversible = dice.chance(40, "allow");
  if (dice.chance(50, "from")) {
    command.from_step = "s" + std::to_string(dice.below(5, "step"));
  }
  const std::string on = dice.chance(40, "on another definition") && run.started().has_value()
                             ? some_definition(run.started()->workflow.view(), dice)
                             : "";
  JsonWriter json;
  json.begin_object()
      .member("run_id", to_string(run.run_id()))
      .member("new_run_id", to_string(command.run_id))
      .member("from_step", command.from_step.view())
      .member("definition", on)
      .member("allow_irreversible", command.allow_irreversible)
      .end_object();
  const RunId source = run.run_id();
  submit(ClientCommand{Answer::What::replay, std::move(json).take(),
                       [source, command, on](Turn& turn) mutable -> Result<std::string> {
                         HOLDFAST_TRY(const RunProjection* known, turn.state().runs().get(source));
                         if (known->definition() == nullptr) {
                           return Error{ErrorCode::unknown_workflow, "the definition is unknown"};
                         }
                         if (!on.empty()) {
                           HOLDFAST_TRY(command.definition,
                                        named_definition(turn, known->started()->workflow, on));
                         }
                         HOLDFAST_TRY(const StartRun start, plan_replay(*known, command));
                         HOLDFAST_TRY(const Started started,
                                      start_run(turn, start, IdOrigin::given));
                         return started_text(started);
                       }},
         dice, 2);
  return true;
}

// A command of which the oracle checks only the position.
Clients::ClientCommand Clients::other_command(const RunId& run, const std::string& member,
                                              DecideRun decide) {
  return ClientCommand{Answer::What::other,
                       R"({"run_id":")" + to_string(run) + "\"," + member + "}",
                       run_decision(run, std::move(decide))};
}

bool Clients::set_attributes(const RunProjection& run, const Dice& dice) {
  const std::string key = "a" + std::to_string(dice.below(3, "key"));
  const std::string changes = R"({"customer":"c)" + std::to_string(dice.below(4, "value")) + "\"}";
  submit(other_command(run.run_id(), R"("attributes":)" + changes,
                       [changes, key](RunProjection& known, Turn& turn) {
                         return decide_update_attributes(known, Payload::trusted(changes), key,
                                                         turn.now());
                       }),
         dice, 1);
  return true;
}

bool Clients::archive(const RunProjection& run, const Dice& dice) {
  const bool back = run.archived().has_value() && dice.chance(60, "back");
  submit(other_command(run.run_id(), R"("archive":true)",
                       [back](RunProjection& known, Turn& turn) {
                         return back ? decide_unarchive(known, turn.now())
                                     : decide_archive(known, "old", turn.now());
                       }),
         dice, 1);
  return true;
}

bool Clients::mutate_graph(const RunProjection& run, const Dice& dice) {
  if (run.runnables().empty()) {
    return false;
  }
  const auto runnables = run.runnables();
  const Runnable& origin = runnables[dice.below(runnables.size(), "origin")]->plan;
  MutateGraph command;
  command.mutation_id = "m" + std::to_string(dice.below(3, "mutation"));
  command.expected_version = run.graph().version + (dice.chance(10, "wrong") ? 1 : 0);
  if (dice.chance(50, "of a step")) {
    command.origin = Origin{origin.runnable_key, origin.step, origin.attempt_number};
  }
  GraphAddition node;
  node.kind = GraphItem::node;
  node.id = "n" + std::to_string(dice.below(5, "node"));
  node.handler = "h";
  command.additions.push_back(node);
  if (dice.chance(50, "edge")) {
    GraphAddition edge;
    edge.kind = GraphItem::edge;
    edge.id = node.id.str() + "-after";
    edge.from = std::string(parse_activation(origin.step.view()).step);
    edge.to = node.id;
    command.additions.push_back(edge);
  }
  submit(other_command(run.run_id(), R"("graph":true)",
                       [command](RunProjection& known, Turn& turn) {
                         return decide_mutate_graph(known, command, turn.now());
                       }),
         dice, 0);
  return true;
}

}  // namespace holdfast::sim
