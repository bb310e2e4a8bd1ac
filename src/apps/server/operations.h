// The operations of the API, one function each. routes.cc maps paths to them.
#pragma once

#include <memory>

namespace holdfast {

class Call;
using CallPtr = std::shared_ptr<Call>;

// work_operations.cc
void claim_work(const CallPtr& call);
void heartbeat_work(const CallPtr& call);
void report_work(const CallPtr& call);
void start_child_run(const CallPtr& call);

// run_operations.cc
void start_run(const CallPtr& call);
void start_runs(const CallPtr& call);
void get_outcome(const CallPtr& call);

// control_operations.cc
void cancel_run(const CallPtr& call);
void signal_run(const CallPtr& call);
void resume_run(const CallPtr& call);
void approve_run(const CallPtr& call);
void reject_run(const CallPtr& call);
void replay_run(const CallPtr& call);
void set_attributes(const CallPtr& call);
void archive_run(const CallPtr& call);
void unarchive_run(const CallPtr& call);
void bulk_runs(const CallPtr& call);

// inspect_operations.cc
void list_runs_page(const CallPtr& call);
void show_run_now(const CallPtr& call);
void explain_run_now(const CallPtr& call);
void graph_run(const CallPtr& call);
void timeline_run(const CallPtr& call);
void diff_run(const CallPtr& call);
void facts_of_run(const CallPtr& call);
void store_status_now(const CallPtr& call);
void doctor_now(const CallPtr& call);

// workflow_operations.cc
void register_workflow(const CallPtr& call);
void list_workflows(const CallPtr& call);
void get_workflow(const CallPtr& call);
void list_versions(const CallPtr& call);
void diff_workflow(const CallPtr& call);
void list_schedules(const CallPtr& call);
void pause_schedule(const CallPtr& call);
void resume_schedule(const CallPtr& call);
void trigger_schedule(const CallPtr& call);

// store_operations.cc
void list_queues(const CallPtr& call);
void get_queue(const CallPtr& call);
void list_workers(const CallPtr& call);
void list_approvals(const CallPtr& call);
void list_tokens(const CallPtr& call);
void create_token(const CallPtr& call);
void revoke_token(const CallPtr& call);
void get_backup(const CallPtr& call);

// system_operations.cc
void get_health(const CallPtr& call);
void get_readiness(const CallPtr& call);
void get_metrics(const CallPtr& call);
void get_openapi(const CallPtr& call);
void get_server(const CallPtr& call);
void stream_events(const CallPtr& call);
void stream_run_events(const CallPtr& call);

}  // namespace holdfast
