#include "runs/api/public_requests.h"

#include "runs/api/json_object.h"

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

Result<ReplayRequest> replay_request(const ReplayOptions& options) {
  ReplayRequest request;
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
