// The operations of the API, one function each. routes.cc maps runs/api/operations.h to them.
#pragma once

#include <memory>

#include "holdfast/result.h"

namespace holdfast {

class Call;
using CallPtr = std::shared_ptr<Call>;

// Answers the call, at once or later.
using OperationFunction = void(const CallPtr& call);
// The same; an error that it returns is the response.
using CheckedOperation = Result<void>(const CallPtr& call);

// work_operations.cc
extern CheckedOperation claim_work, heartbeat_work, report_work, start_child_run;

// run_operations.cc
extern CheckedOperation start_run, start_runs, get_outcome;

// control_operations.cc
extern OperationFunction cancel_run, signal_run, resume_run, approve_run, reject_run, mutate_graph,
    migrate_run, retry_run, discard_run, replay_run, set_attributes, archive_run, unarchive_run,
    bulk_runs;

// inspect_operations.cc
extern CheckedOperation list_runs_page, show_run_now, explain_run_now, graph_run, timeline_run,
    diff_run, facts_of_run, store_status_now, doctor_now, list_workflows;

// workflow_operations.cc
extern CheckedOperation register_workflow, get_workflow, list_versions, diff_workflow,
    list_schedules, pause_schedule, resume_schedule, trigger_schedule, deliver_schedule;

// store_operations.cc
extern CheckedOperation list_queues, get_queue, list_workers, list_approvals, list_tokens,
    create_token, revoke_token, get_backup;

// dead_letter_operations.cc
extern CheckedOperation list_dead_letters, bulk_dead_letters;

// circuit_operations.cc
extern CheckedOperation close_circuit_breaker;

// system_operations.cc
extern OperationFunction get_health, get_readiness, get_openapi;
extern CheckedOperation get_metrics, get_server, stream_events, stream_run_events;

}  // namespace holdfast
