// Dead letters: parked steps, listed by queue, and decided in bulk.
#include "apps/server/server_call.h"
#include "apps/server/server_operations.h"
#include "apps/server/server_problem.h"
#include "runs/service/dead_letters.h"

namespace holdfast {

namespace {

SeesWorkflow seen_by(const Caller& caller) {
  return [caller](std::string_view workflow) { return caller.may_see(workflow); };
}

}  // namespace

Result<void> list_dead_letters(const CallPtr& call) {
  HOLDFAST_TRY(const DeadLettersRequest request, read_query<DeadLettersRequest>(*call));
  submit_or_read<DeadLettersResponse>(
      call, read_dead_letters(request, seen_by(call->caller)),
      [call](const DeadLettersResponse& page) { call->answer_json(response_json(page)); });
  return {};
}

Result<void> bulk_dead_letters(const CallPtr& call) {
  HOLDFAST_TRY(DeadLetterBulkRequest request, read_body<DeadLetterBulkRequest>(*call));
  request.actor = call->caller.actor(request.actor);
  HOLDFAST_TRY(auto decide,
               decide_dead_letters(call->service.commands, request, seen_by(call->caller)));
  submit<DeadLetterOutcomes>(
      call, std::move(decide), [call, request](const DeadLetterOutcomes& decided) {
        call->answer_json(response_json(bulk_response(
            request, decided, [](const Error& error) -> Payload { return problem_json(error); })));
      });
  return {};
}

}  // namespace holdfast
