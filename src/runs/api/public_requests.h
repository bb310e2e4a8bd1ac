// The arguments of Engine and Client as requests. JSON that a program passes as text is parsed
// here: invalid_json, invalid_argument when it is not an object or has a key twice. Errors name the
// argument.
#pragma once

#include <string_view>

#include "runs/api/query_requests.h"
#include "runs/api/run_requests.h"
#include "runs/api/store_requests.h"

namespace holdfast {

Result<StartRequest> start_request(std::string_view workflow, std::string_view input,
                                   const StartOptions& options);
DeliverRequest deliver_request(const DeliverOptions& options);
DeliveredRun delivered_run(const DeliverResponse& response);
CancelRequest cancel_request(const CancelOptions& options);
Result<DecisionRequest> decision_request(const DecisionOptions& options);
Result<RetryRequest> retry_request(const RetryStepOptions& options);
DiscardRequest discard_request(const DiscardStepOptions& options);
Result<DeadLettersRequest> dead_letters_request(const DeadLetterQuery& query);
Result<DeadLetterBulkRequest> dead_letter_bulk_request(DeadLetterAction action,
                                                       const DeadLetterSelection& selection);
DeadLetterView dead_letter_view(const DeadLetter& letter);
// parked or exhausted; empty text: no reason.
Result<std::optional<DeadLetterReason>> read_dead_letter_reason(std::string_view text);
CloseCircuitRequest close_circuit_request(std::string_view workflow, std::string_view step,
                                          const CloseCircuitOptions& options);
Result<SignalRequest> signal_request(std::string_view event, std::string_view payload,
                                     const SignalOptions& options);
// The operations of a mutation, and the defaults of what is empty.
Result<GraphChange> graph_change(const GraphMutation& mutation);
Result<MutateRequest> mutate_request(const GraphMutation& mutation, const MutationOptions& options);
MigrateRequest migrate_request(const MigrateOptions& options);
Result<ReplayRequest> replay_request(const ReplayOptions& options);
Result<ContinueRequest> continue_request(std::string_view input, std::string_view key);
Result<AttributesRequest> attributes_request(std::string_view changes,
                                             std::string_view idempotency_key);

}  // namespace holdfast
