// Workflow definitions, and the schedules that start runs.
#include "apps/server/server_call.h"
#include "apps/server/server_operations.h"
#include "apps/server/work_responses.h"
#include "base/json_writer.h"
#include "runs/language/cron/cron.h"
#include "runs/language/yaml/check_workflow.h"

namespace holdfast {

namespace {

struct Registered {
  bool existed = false;  // it was the current definition before
};

std::string registered_text(const Definition& definition, bool existed, bool dry_run) {
  JsonWriter json;
  json.begin_object().member("workflow", definition.workflow().view());
  json.member("version", definition.version().view());
  json.member("fingerprint", definition.fingerprint().view()).member("existed", existed);
  json.member("dry_run", dry_run).end_object();
  return std::move(json).take();
}

Result<void> check_type(const net::Request& request) {
  const std::string_view given = request.header("Content-Type");
  const std::string_view type = given.substr(0, given.find(';'));
  if (type.empty() || type == "application/json" || type == "application/yaml" ||
      type == "application/x-yaml" || type == "text/yaml") {
    return {};
  }
  return Error{
      ErrorCode::invalid_argument,
      "the content type of a definition must be application/json or application/yaml, not \"" +
          std::string(type) + "\""}
      .with("field", "Content-Type");
}

// A run starts the child workflows that its definition names, with no regard to the caller of the
// run. So a caller that is limited to some workflows may register only definitions that name those.
Result<void> check_children(const Caller& caller, const Definition& definition) {
  for (const Step& step : definition.steps()) {
    if (step.spec.child.has_value() && !caller.may_see(step.spec.child->workflow.view())) {
      const std::string child = step.spec.child->workflow.str();
      return Error{ErrorCode::permission_denied,
                   "step \"" + step.name.str() + "\" starts workflow \"" + child +
                       "\", and token \"" + caller.name + "\" is limited to other workflows"}
          .with("workflow", child)
          .with("step", step.name.view());
    }
  }
  return {};
}

// not_found when the workflow has no cron trigger of that name.
Result<const TriggerSpec*> find_schedule(Turn& turn, const std::string& workflow,
                                         const std::string& trigger) {
  HOLDFAST_TRY(const auto definition, current_definition(turn, workflow));
  const Trigger* found = definition->find_trigger(trigger);
  if (found == nullptr || !found->spec.cron.has_value()) {
    return Error{ErrorCode::not_found,
                 "workflow \"" + workflow + "\" has no schedule \"" + trigger + "\""}
        .with("workflow", workflow)
        .with("trigger", trigger);
  }
  return &found->spec;
}

// From the loop. The next times are computed outside of it.
struct KnownSchedule {
  SharedText workflow;
  TriggerSpec spec;
  ScheduleState state;
};

Result<std::vector<KnownSchedule>> known_schedules(Turn& turn, const Caller& caller) {
  std::vector<KnownSchedule> schedules;
  for (const auto& [workflow, registered] : turn.state().registry().workflows()) {
    const auto definition = turn.definitions().pinned(registered.fingerprint);
    if (!definition.ok() || !caller.may_see(workflow.view())) {
      continue;
    }
    for (const Trigger& trigger : definition.value()->triggers()) {
      if (!trigger.spec.cron.has_value()) {
        continue;
      }
      const auto& states = turn.state().registry().schedules();
      const auto state = states.find(schedule_name(workflow.view(), trigger.spec.name.view()));
      schedules.push_back(
          {workflow, trigger.spec, state == states.end() ? ScheduleState{} : state->second});
    }
  }
  return schedules;
}

void write_next_times(JsonWriter& json, const CronSpec& cron, TimeMs now, std::uint64_t count) {
  json.key("next").begin_array();
  const auto clock = CronClock::create(cron.expression.view(), cron.timezone.view());
  auto next = clock.ok() ? clock.value().next(now) : std::nullopt;
  for (std::uint64_t i = 0; i < count && next.has_value(); ++i) {
    json.integer(next->value);
    next = clock.value().next(*next);
  }
  json.end_array();
}

std::string schedules_text(const std::vector<KnownSchedule>& schedules, TimeMs now,
                           std::uint64_t count) {
  JsonWriter json;
  json.begin_object().key("schedules").begin_array();
  for (const KnownSchedule& schedule : schedules) {
    const CronSpec& cron = *schedule.spec.cron;
    json.begin_object().member("workflow", schedule.workflow.view());
    json.member("trigger", schedule.spec.name.view()).member("cron", cron.expression.view());
    json.member("timezone", cron.timezone.view()).member("paused", schedule.state.paused);
    if (schedule.state.paused) {
      json.member("paused_at", schedule.state.at.value);
      json.member("paused_by", schedule.state.actor.view());
    }
    write_next_times(json, cron, now, schedule.state.paused ? 0 : count);
    json.end_object();
  }
  json.end_array().end_object();
  return std::move(json).take();
}

template <typename Fact>
void change_schedule(const CallPtr& call) {
  const auto body = read_body<ScheduleRequest>(*call);
  const Result<void> allowed = check_workflow(call->caller, call->arguments[0]);
  if (!body.ok() || !allowed.ok()) {
    return call->fail(body.ok() ? allowed.error() : body.error());
  }
  Fact fact;
  fact.workflow = call->arguments[0];
  fact.trigger = call->arguments[1];
  fact.actor = call->caller.actor(body.value().actor);
  fact.comment = body.value().comment;
  submit<ScheduleState>(
      call,
      [fact](Turn& turn) -> Result<ScheduleState> {
        HOLDFAST_CHECK(find_schedule(turn, fact.workflow.str(), fact.trigger.str()));
        HOLDFAST_CHECK(turn.emit(fact));
        const auto& states = turn.state().registry().schedules();
        const auto state = states.find(schedule_name(fact.workflow.view(), fact.trigger.view()));
        return state == states.end() ? ScheduleState{} : state->second;
      },
      [call](const ScheduleState& state) {
        JsonWriter json;
        json.begin_object().member("workflow", call->arguments[0]);
        json.member("trigger", call->arguments[1]).member("paused", state.paused).end_object();
        call->answer_json(std::move(json).take());
      });
}

}  // namespace

void register_workflow(const CallPtr& call) {
  const auto dry_run = call->query.flag("dry_run");
  const Result<void> known = call->query.finish();
  const Result<void> type = check_type(call->request());
  if (!dry_run.ok() || !known.ok() || !type.ok()) {
    return call->fail(!dry_run.ok() ? dry_run.error() : known.ok() ? type.error() : known.error());
  }
  // Parsing a large definition takes time, so a reader thread does it.
  read(call, [call, dry_run = dry_run.value()]() -> Result<void> {
    HOLDFAST_TRY(const auto definition, load_workflow(call->request().body, "definition"));
    HOLDFAST_CHECK(check_workflow(call->caller, definition->workflow().view()));
    HOLDFAST_CHECK(check_children(call->caller, *definition));
    if (dry_run) {
      call->answer_json(registered_text(*definition, false, true));
      return {};
    }
    Service& service = call->service;
    std::vector<LoopRequest> requests{DefinitionsChanged{}};
    requests.emplace_back(std::make_shared<FunctionCommand<Registered>>(
        [definition, actor = SharedText(call->caller.actor(""))](Turn& turn) -> Result<Registered> {
          const bool existed =
              turn.state().registry().current(definition->workflow()) == definition->fingerprint();
          turn.definitions().add(definition);
          HOLDFAST_CHECK(turn.emit_registration(*definition, actor));
          return Registered{existed};
        },
        [call, definition](const Result<Registered>& done) {
          if (done.ok()) {
            call->answer_json(registered_text(*definition, done.value().existed, false),
                              done.value().existed ? 200 : 201);
          } else {
            call->fail(done.error());
          }
        }));
    service.loop.submit(std::move(requests));
    return {};
  });
}

void list_workflows(const CallPtr& call) {
  inspect(call, [](Answers& answers) { return answers.workflows(); });
}

void get_workflow(const CallPtr& call) {
  inspect(call,
          [name = call->arguments.front(),
           caller = call->caller](Answers& answers) -> Result<std::string> {
            HOLDFAST_CHECK(check_workflow(caller, name.substr(0, name.find('@'))));
            return answers.workflow(name);
          });
}

void list_versions(const CallPtr& call) {
  inspect(call,
          [name = call->arguments.front(),
           caller = call->caller](Answers& answers) -> Result<std::string> {
            HOLDFAST_CHECK(check_workflow(caller, name));
            return answers.workflow_versions(name);
          });
}

void diff_workflow(const CallPtr& call) {
  const std::string& name = call->arguments.front();
  const auto version = [&](std::string_view which) {
    const std::string given = call->query.text(which);
    return given.empty() ? name : given.find('@') == std::string::npos ? name + "@" + given : given;
  };
  const std::string from = version("from");
  const std::string to = version("to");
  inspect(call, [from, to, caller = call->caller](Answers& answers) -> Result<std::string> {
    HOLDFAST_CHECK(check_workflow(caller, from.substr(0, from.find('@'))));
    HOLDFAST_CHECK(check_workflow(caller, to.substr(0, to.find('@'))));
    return answers.workflow_diff(from, to);
  });
}

void list_schedules(const CallPtr& call) {
  constexpr std::uint64_t kUsual = 5;
  constexpr std::uint64_t kMost = 100;
  const auto next = call->query.number("next", kMost);
  const Result<void> known = call->query.finish();
  if (!next.ok() || !known.ok()) {
    return call->fail(next.ok() ? known.error() : next.error());
  }
  submit_or_read<std::vector<KnownSchedule>>(
      call, [caller = call->caller](Turn& turn) { return known_schedules(turn, caller); },
      [call, count = next.value().value_or(kUsual)](const std::vector<KnownSchedule>& found) {
        read(call, [call, count, found]() -> Result<void> {
          call->answer_json(schedules_text(found, call->service.clock.now(), count));
          return {};
        });
      });
}

void pause_schedule(const CallPtr& call) { change_schedule<SchedulePaused>(call); }
void resume_schedule(const CallPtr& call) { change_schedule<ScheduleResumed>(call); }

void trigger_schedule(const CallPtr& call) {
  const auto body = read_body<TriggerRequest>(*call);
  const std::string workflow = call->arguments[0];
  const std::string trigger = call->arguments[1];
  const Result<void> allowed = check_workflow(call->caller, workflow);
  if (!body.ok() || !allowed.ok()) {
    return call->fail(body.ok() ? allowed.error() : body.error());
  }
  StartRequest request;
  request.workflow = workflow;
  request.input = body.value().input;
  request.trigger = trigger;
  request.idempotency_key = body.value().idempotency_key;
  request.actor = call->caller.actor(body.value().actor);
  request.comment = body.value().comment;
  auto start = call->service.commands.start(request);
  if (!start.ok()) {
    return call->fail(start.error());
  }
  call->identify("run_id", to_string(start.value().run_id));
  submit<Started>(
      call,
      [workflow, trigger, start = std::move(start.value().decide)](Turn& turn) -> Result<Started> {
        HOLDFAST_CHECK(find_schedule(turn, workflow, trigger));
        return start(turn);
      },
      [call](const Started& started) {
        call->answer_json(started_text(started), started.existed ? 200 : 201);
      });
}

}  // namespace holdfast
