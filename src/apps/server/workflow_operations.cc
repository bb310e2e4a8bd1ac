// Workflow definitions, and the schedules that start runs.
#include "apps/server/server_call.h"
#include "apps/server/server_operations.h"
#include "apps/server/work_responses.h"
#include "runs/language/cron/cron.h"
#include "runs/language/yaml/check_workflow.h"
#include "runs/service/migration_report.h"

namespace holdfast {

namespace {

struct Registered {
  bool existed = false;  // it was the current definition before
};

// Which runs in progress could migrate to the definition.
void preview(const CallPtr& call, const std::shared_ptr<const Definition>& definition) {
  submit_or_read<MigrationReport>(
      call, [definition](Turn& turn) { return migration_report(turn, *definition); },
      [call, definition](const MigrationReport& report) {
        RegisterResponse response = registration(*definition);
        response.dry_run = true;
        response.runs = report.runs;
        response.more = report.more;
        call->answer_json(response_json(response));
      });
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

std::vector<TimeMs> next_times(const CronSpec& cron, TimeMs now, std::uint64_t count) {
  std::vector<TimeMs> times;
  const auto clock = CronClock::create(cron.expression.view(), cron.timezone.view());
  auto next = clock.ok() ? clock.value().next(now) : std::nullopt;
  for (; times.size() < count && next.has_value(); next = clock.value().next(*next)) {
    times.push_back(*next);
  }
  return times;
}

SchedulesResponse schedules_of(const std::vector<KnownSchedule>& known, TimeMs now,
                               std::uint64_t count) {
  SchedulesResponse response;
  for (const KnownSchedule& one : known) {
    const CronSpec& cron = *one.spec.cron;
    Schedule& schedule = response.schedules.emplace_back();
    schedule.workflow = one.workflow.str();
    schedule.trigger = one.spec.name.str();
    schedule.cron = cron.expression.str();
    schedule.timezone = cron.timezone.str();
    schedule.external = cron.delivery == CronDelivery::external;
    schedule.paused = one.state.paused;
    if (one.state.paused) {
      schedule.paused_at = one.state.at;
      schedule.paused_by = one.state.actor.str();
    }
    schedule.next = next_times(cron, now, one.state.paused ? 0 : count);
  }
  return response;
}

template <typename Fact>
Result<void> change_schedule(const CallPtr& call) {
  HOLDFAST_TRY(const ScheduleRequest body, read_body<ScheduleRequest>(*call));
  HOLDFAST_CHECK(check_workflow(call->caller, call->arguments[0]));
  Fact fact;
  fact.workflow = call->arguments[0];
  fact.trigger = call->arguments[1];
  fact.actor = call->caller.actor(body.actor);
  fact.comment = body.comment;
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
        call->answer_json(
            response_json(ScheduleResponse{call->arguments[0], call->arguments[1], state.paused}));
      });
  return {};
}

}  // namespace

Result<void> register_workflow(const CallPtr& call) {
  HOLDFAST_TRY(const RegisterRequest request, read_query<RegisterRequest>(*call));
  HOLDFAST_CHECK(check_type(call->request()));
  // Parsing a large definition takes time, so a reader thread does it.
  read(call, [call, dry_run = request.dry_run]() -> Result<void> {
    HOLDFAST_TRY(const auto definition, load_workflow(call->request().body, "definition"));
    HOLDFAST_CHECK(check_workflow(call->caller, definition->workflow().view()));
    HOLDFAST_CHECK(check_children(call->caller, *definition));
    if (dry_run) {
      preview(call, definition);
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
            RegisterResponse response = registration(*definition);
            response.existed = done.value().existed;
            call->answer_json(response_json(response), response.existed ? 200 : 201);
          } else {
            call->fail(done.error());
          }
        }));
    service.loop.submit(std::move(requests));
    return {};
  });
  return {};
}

namespace {

// A query about a workflow that the caller may see.
template <HasFields Request>
Result<void> inspect_workflow(const CallPtr& call) {
  HOLDFAST_TRY(const Request request, read_query<Request>(*call));
  inspect(call, [call, request](RunQueries& queries) -> Result<View> {
    const std::string& name = request.workflow;
    HOLDFAST_CHECK(check_workflow(call->caller, name.substr(0, name.find('@'))));
    return queries.of_store(request);
  });
  return {};
}

}  // namespace

Result<void> get_workflow(const CallPtr& call) { return inspect_workflow<WorkflowRequest>(call); }
Result<void> list_versions(const CallPtr& call) { return inspect_workflow<VersionsRequest>(call); }

Result<void> diff_workflow(const CallPtr& call) {
  HOLDFAST_TRY(WorkflowDiffRequest request, read_query<WorkflowDiffRequest>(*call));
  const std::string& name = request.workflow;
  for (std::string* version : {&request.from, &request.to}) {
    if (version->find('@') == std::string::npos) {
      *version = version->empty() ? name : name + "@" + *version;
    }
  }
  inspect(call, [call, request](RunQueries& queries) -> Result<View> {
    for (const std::string& version : {request.from, request.to}) {
      HOLDFAST_CHECK(check_workflow(call->caller, version.substr(0, version.find('@'))));
    }
    return queries.of_store(request);
  });
  return {};
}

Result<void> list_schedules(const CallPtr& call) {
  constexpr std::uint64_t kUsual = 5;
  HOLDFAST_TRY(const SchedulesRequest request, read_query<SchedulesRequest>(*call));
  submit_or_read<std::vector<KnownSchedule>>(
      call, [caller = call->caller](Turn& turn) { return known_schedules(turn, caller); },
      [call, count = request.next.value_or(kUsual)](const std::vector<KnownSchedule>& found) {
        read(call, [call, count, found]() -> Result<void> {
          call->answer_json(response_json(schedules_of(found, call->service.clock.now(), count)));
          return {};
        });
      });
  return {};
}

Result<void> pause_schedule(const CallPtr& call) { return change_schedule<SchedulePaused>(call); }
Result<void> resume_schedule(const CallPtr& call) { return change_schedule<ScheduleResumed>(call); }

Result<void> trigger_schedule(const CallPtr& call) {
  HOLDFAST_TRY(const TriggerRequest body, read_body<TriggerRequest>(*call));
  const std::string workflow = call->arguments[0];
  const std::string trigger = call->arguments[1];
  HOLDFAST_CHECK(check_workflow(call->caller, workflow));
  StartRequest request;
  request.workflow = workflow;
  request.input = body.input;
  request.trigger = trigger;
  request.idempotency_key = body.idempotency_key;
  request.actor = call->caller.actor(body.actor);
  request.comment = body.comment;
  HOLDFAST_TRY(auto start, call->service.commands.start(request));
  call->identify("run_id", to_string(start.run_id));
  submit<Started>(
      call,
      [workflow, trigger, start = std::move(start.decide)](Turn& turn) -> Result<Started> {
        HOLDFAST_CHECK(find_schedule(turn, workflow, trigger));
        return start(turn);
      },
      [call](const Started& started) {
        call->answer_json(started_text(started), started.existed ? 200 : 201);
      });
  return {};
}

Result<void> deliver_schedule(const CallPtr& call) {
  HOLDFAST_TRY(DeliverRequest body, read_body<DeliverRequest>(*call));
  const std::string& workflow = call->arguments[0];
  HOLDFAST_CHECK(check_workflow(call->caller, workflow));
  body.actor = call->caller.actor(body.actor);
  HOLDFAST_TRY(auto deliver, call->service.commands.deliver(workflow, call->arguments[1], body));
  submit<Delivered>(call, std::move(deliver), [call](const Delivered& delivered) {
    const bool started = delivered.outcome == DeliveryOutcome::started;
    call->answer_json(response_json(deliver_response(delivered)), started ? 201 : 200);
  });
  return {};
}

}  // namespace holdfast
