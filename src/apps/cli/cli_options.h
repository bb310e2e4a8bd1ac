// What each command was asked to do: plain data, made by cli/parse.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "apps/cli/run_options.h"
#include "apps/cli/server_options.h"
#include "apps/cli/worker_options.h"

namespace holdfast {

// Help or version: what the user asked for is a text.
struct ShowText {
  std::string text;
};

struct AppendOptions {
  std::string store;
  std::string thread;
  std::string kind;
  std::string data = "{}";  // "-": standard input
  std::optional<std::uint64_t> expected_rev;
  std::optional<std::uint64_t> at_ms;
};

struct StatOptions {
  std::string store;
};

struct CatOptions {
  std::string store;
  std::string thread;                 // empty: all threads
  std::optional<std::uint64_t> from;  // a position, or with a thread a sequence number
  std::optional<std::uint64_t> limit;
  bool follow = false;
};

struct VerifyOptions {
  std::string store;
};

struct ExportOptions {
  std::string store;
  std::string file = "-";  // "-": standard output
  bool force = false;
};

struct ImportOptions {
  std::string store;
  std::string file;  // "-": standard input
};

struct CopyOptions {
  std::string from;
  std::string to;
};

struct SealCommandOptions {
  std::string store;
  std::optional<std::uint64_t> below;
  bool reclaim = false;
};

struct BenchJournalOptions {
  std::string store;  // empty: a temporary file
  std::optional<std::uint64_t> entries;
  bool keep = false;
  bool quick = false;
};

struct BenchEngineOptions {
  std::string store;  // empty: a temporary file
  std::string only;   // empty: all cases
  std::optional<std::uint64_t> pending;
  std::optional<std::uint64_t> steps;
  bool keep = false;
  bool quick = false;
};

struct BenchWorkflowOptions {
  std::string store;  // empty: a temporary file
  std::string only;   // empty: all cases
  std::optional<std::uint64_t> sleeping;
  bool keep = false;
  bool quick = false;
};

struct BenchServerOptions {
  std::string only;  // empty: all cases
  bool quick = false;
};

struct SimulateCommandOptions {
  std::string file;  // empty: workflows of all kinds are made up
  std::optional<std::uint64_t> seeds;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> seconds;
  std::string faults = "all";
  std::string only;  // item numbers, with commas between them
  bool story = false;
  bool coverage = false;
  bool no_shrink = false;
  // With a file.
  std::vector<std::string> with;  // more files: the workflows of its children
  std::string world;              // what is outside; empty: FILE with .sim.yaml, if it is there
  bool real = false;
  bool trace = false;  // the story in the words of the simulator
};

struct WorkflowCheckOptions {
  std::vector<std::string> files;  // "-": standard input
};

struct WorkflowSchemaOptions {};

struct WorkflowListOptions {
  BackendOptions backend;
};

struct WorkflowShowOptions {
  BackendOptions backend;
  std::string workflow;  // NAME, NAME@VERSION, NAME@FINGERPRINT or a file
};

struct WorkflowDiffOptions {
  BackendOptions backend;
  std::string before;  // as in WorkflowShowOptions
  std::string after;
};

struct CompletionOptions {
  std::string shell;
};

using AnyCommand = std::variant<
    ShowText, AppendOptions, StatOptions, CatOptions, VerifyOptions, ExportOptions, ImportOptions,
    CopyOptions, SealCommandOptions, RunFileOptions, WorkOptions, StartRunOptions, ListRunsOptions,
    ShowRunOptions, ExplainOptions, GraphOptions, TimelineOptions, DiffOptions, StatusOptions,
    DoctorOptions, CancelRunOptions, SignalRunOptions, ResolveOptions, ReplayRunOptions,
    WorkflowCheckOptions, WorkflowSchemaOptions, WorkflowListOptions, WorkflowShowOptions,
    WorkflowDiffOptions, ServeOptions, WorkerOptions, TokenCreateOptions, TokenListOptions,
    TokenRevokeOptions, BackupOptions, RestoreOptions, QueuesOptions, WorkersOptions,
    SchedulesOptions, ApprovalsOptions, CompletionOptions, BenchJournalOptions, BenchEngineOptions,
    BenchWorkflowOptions, BenchServerOptions, SimulateCommandOptions>;

enum class OutputForm : std::uint8_t { text, json };

struct CommandLine {
  AnyCommand command;
  OutputForm form = OutputForm::text;
};

}  // namespace holdfast
