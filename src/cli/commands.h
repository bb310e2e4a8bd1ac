// The commands. Each does its work, prints its result to context.out and returns; errors are
// printed by the caller.
#pragma once

#include "base/result.h"
#include "cli/context.h"
#include "cli/options.h"

namespace holdfast {

Result<void> run_append(const AppendOptions& options, Context& context);
Result<void> run_stat(const StatOptions& options, Context& context);
Result<void> run_cat(const CatOptions& options, Context& context);
Result<void> run_verify(const VerifyOptions& options, Context& context);
Result<void> run_export(const ExportOptions& options, Context& context);
Result<void> run_import(const ImportOptions& options, Context& context);
Result<void> run_copy(const CopyOptions& options, Context& context);
Result<void> run_seal(const SealCommandOptions& options, Context& context);
Result<void> run_bench_journal(const BenchJournalOptions& options, Context& context);
Result<void> run_bench_workflow(const BenchWorkflowOptions& options, Context& context);
Result<void> run_bench_engine(const BenchEngineOptions& options, Context& context);
Result<void> run_workflow_check(const WorkflowCheckOptions& options, Context& context);
Result<void> run_workflow_schema(const WorkflowSchemaOptions& options, Context& context);

}  // namespace holdfast
