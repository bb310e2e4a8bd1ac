// The commands. Each does its work, prints its result to context.out and returns; errors are
// printed by the caller.
#pragma once

#include "apps/cli/cli_context.h"
#include "apps/cli/cli_options.h"
#include "holdfast/result.h"

namespace holdfast {

Result<void> run_command(const ShowText& options, Context& context);

// Journals
Result<void> run_command(const AppendOptions& options, Context& context);
Result<void> run_command(const StatOptions& options, Context& context);
Result<void> run_command(const CatOptions& options, Context& context);
Result<void> run_command(const VerifyOptions& options, Context& context);
Result<void> run_command(const ExportOptions& options, Context& context);
Result<void> run_command(const ImportOptions& options, Context& context);
Result<void> run_command(const CopyOptions& options, Context& context);
Result<void> run_command(const SealCommandOptions& options, Context& context);

// Runs: executing
Result<void> run_command(const RunFileOptions& options, Context& context);
Result<void> run_command(const WorkOptions& options, Context& context);
Result<void> run_command(const StartRunOptions& options, Context& context);
// Runs: looking
Result<void> run_command(const ListRunsOptions& options, Context& context);
Result<void> run_command(const ShowRunOptions& options, Context& context);
Result<void> run_command(const ExplainOptions& options, Context& context);
Result<void> run_command(const GraphOptions& options, Context& context);
Result<void> run_command(const TimelineOptions& options, Context& context);
Result<void> run_command(const DiffOptions& options, Context& context);
Result<void> run_command(const StatusOptions& options, Context& context);
Result<void> run_command(const DoctorOptions& options, Context& context);
// Runs: steering
Result<void> run_command(const CancelRunOptions& options, Context& context);
Result<void> run_command(const SignalRunOptions& options, Context& context);
Result<void> run_command(const ResolveOptions& options, Context& context);
Result<void> run_command(const ReplayRunOptions& options, Context& context);

// Workflows
Result<void> run_command(const WorkflowCheckOptions& options, Context& context);
Result<void> run_command(const WorkflowSchemaOptions& options, Context& context);
Result<void> run_command(const WorkflowListOptions& options, Context& context);
Result<void> run_command(const WorkflowShowOptions& options, Context& context);
Result<void> run_command(const WorkflowDiffOptions& options, Context& context);

// Servers
Result<void> run_command(const ServeOptions& options, Context& context);
Result<void> run_command(const WorkerOptions& options, Context& context);
Result<void> run_command(const TokenCreateOptions& options, Context& context);
Result<void> run_command(const TokenListOptions& options, Context& context);
Result<void> run_command(const TokenRevokeOptions& options, Context& context);
Result<void> run_command(const BackupOptions& options, Context& context);
Result<void> run_command(const RestoreOptions& options, Context& context);
Result<void> run_command(const QueuesOptions& options, Context& context);
Result<void> run_command(const WorkersOptions& options, Context& context);
Result<void> run_command(const SchedulesOptions& options, Context& context);
Result<void> run_command(const ApprovalsOptions& options, Context& context);

Result<void> run_command(const CompletionOptions& options, Context& context);
Result<void> run_command(const SimulateCommandOptions& options, Context& context);
Result<void> run_command(const BenchJournalOptions& options, Context& context);
Result<void> run_command(const BenchWorkflowOptions& options, Context& context);
Result<void> run_command(const BenchServerOptions& options, Context& context);
Result<void> run_command(const BenchEngineOptions& options, Context& context);

}  // namespace holdfast
