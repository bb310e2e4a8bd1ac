#include "runs/api/public_requests.h"

#include "runs/api/json_object.h"
#include "runs/language/data/iso8601.h"

namespace holdfast {

namespace {

// Empty text stands for "not given".
Result<ObjectPayload> optional_object(std::string_view field, std::string_view text) {
  if (text.empty()) {
    return ObjectPayload();
  }
  HOLDFAST_TRY(const Payload object, object_of(field, text));
  return ObjectPayload(object);
}

Result<GraphAddition> addition_of(const AddedStep& step) {
  GraphAddition node;
  node.id = step.id;
  node.handler = step.handler;
  node.queue = step.queue;
  HOLDFAST_TRY(node.input, optional_object("input", step.input));
  if (step.max_attempts != 1) {
    node.retry.emplace();
    node.retry->rule.max_attempts = step.max_attempts;
    node.retry->rule.delay_ms = step.retry_delay_ms;
  }
  return node;
}

GraphAddition addition_of(const AddedEdge& edge) {
  GraphAddition addition;
  addition.kind = GraphItem::edge;
  addition.id = edge.id.empty() ? edge.from + "." + edge.to : edge.id;
  addition.from = edge.from;
  addition.to = edge.to;
  return addition;
}

}  // namespace

Result<StartRequest> start_request(std::string_view workflow, std::string_view input,
                                   const StartOptions& options) {
  StartRequest request;
  request.workflow = workflow;
  HOLDFAST_TRY(request.input, object_of("input", input));
  HOLDFAST_TRY(request.search_attributes,
               optional_object("search_attributes", options.search_attributes));
  request.run_id = options.run_id;
  request.idempotency_key = options.idempotency_key;
  request.queue = options.queue;
  request.trigger = options.trigger;
  request.actor = options.actor;
  request.comment = options.comment;
  return request;
}

CloseCircuitRequest close_circuit_request(std::string_view workflow, std::string_view step,
                                          const CloseCircuitOptions& options) {
  CloseCircuitRequest request;
  request.workflow = workflow;
  request.step = step;
  request.queue = options.queue;
  request.actor = options.actor;
  request.reason = options.reason;
  return request;
}

DeliverRequest deliver_request(const DeliverOptions& options) {
  DeliverRequest request;
  request.signal_id = options.signal_id;
  if (options.window.has_value()) {
    request.intended_window = {iso8601_time(TimeMs{options.window->start_at_ms}),
                               iso8601_time(TimeMs{options.window->end_at_ms})};
  }
  request.actor = options.actor;
  request.comment = options.comment;
  return request;
}

DeliveredRun delivered_run(const DeliverResponse& response) {
  return {response.result, response.run_id};
}

CancelRequest cancel_request(const CancelOptions& options) {
  return {options.mode, options.actor, options.comment, options.idempotency_key};
}

Result<DecisionRequest> decision_request(const DecisionOptions& options) {
  DecisionRequest request;
  request.step = options.step;
  request.actor = options.actor;
  request.comment = options.comment;
  HOLDFAST_TRY(request.metadata, optional_object("metadata", options.metadata));
  request.idempotency_key = options.idempotency_key;
  return request;
}

Result<RetryRequest> retry_request(const RetryStepOptions& options) {
  RetryRequest request;
  request.step = options.step;
  HOLDFAST_TRY(request.input, optional_object("input", options.input));
  request.runnable_key = options.runnable_key;
  request.actor = options.actor;
  request.comment = options.comment;
  request.idempotency_key = options.idempotency_key;
  return request;
}

DiscardRequest discard_request(const DiscardStepOptions& options) {
  return {options.step, options.runnable_key, options.actor, options.comment,
          options.idempotency_key};
}

Result<std::optional<DeadLetterReason>> read_dead_letter_reason(std::string_view text) {
  for (const DeadLetterReason reason : {DeadLetterReason::parked, DeadLetterReason::exhausted}) {
    if (to_text(reason) == text) {
      return std::optional(reason);
    }
  }
  if (text.empty()) {
    return std::optional<DeadLetterReason>();
  }
  return Error{ErrorCode::invalid_argument, "reason must be parked or exhausted"}.with("field",
                                                                                       "reason");
}

Result<DeadLettersRequest> dead_letters_request(const DeadLetterQuery& query) {
  if (query.limit == 0 || query.limit > kMostPerPage) {
    return Error{ErrorCode::invalid_argument, "limit must be a number from 1 to 1000"}.with(
        "field", "limit");
  }
  DeadLettersRequest request;
  request.run_id = query.run_id;
  request.queue = query.queue;
  request.workflow = query.workflow;
  request.step = query.step;
  request.code = query.code;
  request.reason = query.reason;
  request.limit = query.limit;
  request.cursor = query.cursor;
  return request;
}

Result<DeadLetterBulkRequest> dead_letter_bulk_request(DeadLetterAction action,
                                                       const DeadLetterSelection& selection) {
  DeadLetterBulkRequest request;
  request.action = action;
  request.filter.run_id = selection.run_id;
  request.filter.queue = selection.queue;
  request.filter.workflow = selection.workflow;
  request.filter.step = selection.step;
  request.filter.code = selection.code;
  HOLDFAST_TRY(request.filter.reason, read_dead_letter_reason(selection.reason));
  request.all = selection.all;
  request.dry_run = selection.dry_run;
  request.limit = selection.limit;
  request.actor = selection.actor;
  request.comment = selection.comment;
  return request;
}

DeadLetterView dead_letter_view(const DeadLetter& letter) {
  DeadLetterView view;
  view.reason = to_text(letter.reason);
  view.run_id = letter.run_id;
  view.workflow = letter.workflow;
  view.step = letter.step;
  view.queue = letter.queue;
  view.runnable_key = letter.runnable_key;
  view.idempotency_key = letter.idempotency_key;
  view.attempts = letter.attempts;
  view.since = letter.since.value;
  view.age_ms = letter.age_ms;
  view.error = letter.error.view();
  view.input = letter.input.view();
  return view;
}

Result<SignalRequest> signal_request(std::string_view event, std::string_view payload,
                                     const SignalOptions& options) {
  SignalRequest request;
  request.event = event;
  HOLDFAST_TRY(request.data, object_of("payload", payload));
  request.correlation = options.correlation;
  request.actor = options.actor;
  request.idempotency_key = options.idempotency_key;
  return request;
}

Result<GraphChange> graph_change(const GraphMutation& mutation) {
  GraphChange change;
  change.mutation_id = mutation.id;
  change.expected_version = mutation.expected_version;
  for (const AddedStep& step : mutation.steps) {
    HOLDFAST_TRY(GraphAddition node, addition_of(step));
    change.additions.push_back(std::move(node));
  }
  for (const AddedEdge& edge : mutation.edges) {
    change.additions.push_back(addition_of(edge));
  }
  for (const std::string& id : mutation.removed_edges) {
    change.removals.push_back({GraphItem::edge, SharedText(id)});
  }
  for (const std::string& id : mutation.removed_steps) {
    change.removals.push_back({GraphItem::node, SharedText(id)});
  }
  return change;
}

Result<MutateRequest> mutate_request(const GraphMutation& mutation,
                                     const MutationOptions& options) {
  HOLDFAST_TRY(GraphChange change, graph_change(mutation));
  MutateRequest request;
  request.mutation_id = mutation.id;
  request.expected_version = change.expected_version;
  request.additions = std::move(change.additions);
  request.removals = std::move(change.removals);
  request.actor = options.actor;
  request.comment = options.comment;
  return request;
}

MigrateRequest migrate_request(const MigrateOptions& options) {
  return {options.to, options.actor, options.comment};
}

Result<ReplayRequest> replay_request(const ReplayOptions& options) {
  ReplayRequest request;
  request.definition = options.definition;
  request.from_step = options.from_step;
  HOLDFAST_TRY(request.input, optional_object("input", options.input));
  request.allow_irreversible = options.allow_irreversible;
  request.run_id = options.run_id;
  request.actor = options.actor;
  request.comment = options.comment;
  return request;
}

Result<ContinueRequest> continue_request(std::string_view input, std::string_view key) {
  ContinueRequest request;
  HOLDFAST_TRY(request.input, object_of("input", input));
  request.key = key;
  return request;
}

Result<AttributesRequest> attributes_request(std::string_view changes,
                                             std::string_view idempotency_key) {
  AttributesRequest request;
  HOLDFAST_TRY(request.changes, object_of("changes", changes));
  request.idempotency_key = idempotency_key;
  return request;
}

}  // namespace holdfast
