// StoreBackend: a place that is a store, opened by this program.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/backend.h"
#include "apps/terminal/answers.h"
#include "runs/engine/engine_loop.h"

namespace holdfast {

class StoreBackend final : public Backend {
 public:
  StoreBackend(NamedStore store, Context& context)
      : Backend(store.suffix, context.json() ? Form::json : Form::text),
        store_(std::move(store)),
        context_(context) {}

  [[nodiscard]] std::string_view continue_hint() const override {
    return "carry it out with: holdfast work";
  }
  Result<Answer> inspect(const ListRunsOptions& options) override;
  Result<Answer> inspect(const ShowRunOptions& options) override;
  Result<Answer> inspect(const ExplainOptions& options) override;
  Result<Answer> inspect(const GraphOptions& options) override;
  Result<Answer> inspect(const TimelineOptions& options) override;
  Result<Answer> inspect(const DiffOptions& options) override;
  Result<Answer> inspect(const StatusOptions& options) override;
  Result<Answer> inspect(const DoctorOptions& options) override;

  Result<Answer> workflows() override;
  Result<Answer> workflow(const std::string& name) override;
  Result<std::shared_ptr<const Definition>> definition(const std::string& name) override;
  Result<std::vector<KnownWorkflow>> versions(const std::string& name) override;

  Result<std::string> run_id(const std::string& run) override;
  Result<std::string> control(const CancelRunOptions& options) override;
  Result<std::string> control(const SignalRunOptions& options) override;
  Result<std::string> control(const ResolveOptions& options) override;
  Result<StartedRun> replay(const ReplayRunOptions& options) override;
  Result<StartedRun> start(const Start& start) override;
  Result<std::string> snapshot(const std::string& run_id) override;

  Result<std::string> create_token(const CreateToken& token) override;
  Result<std::string> tokens() override;
  Result<void> revoke_token(const std::string& token_id) override;

  Result<std::string> server_json(std::string_view path, std::string_view instead) override;
  Result<std::string> post_to_server(std::string_view path, std::string_view body,
                                     std::string_view instead) override;
  Result<void> backup(std::ostream& out, const Progress& progress) override;
  [[nodiscard]] const char* backup_unit() const override { return "batches"; }

 private:
  // The store, opened once to be read.
  Result<StoreReader*> reader();
  Result<Answers> answers();
  struct RunAtPoint {
    RunId run;
    At at;
    Answers answers;
  };
  Result<RunAtPoint> run_at(const std::string& run, const std::string& at);
  // The store must exist.
  Result<Engine> engine();
  using Action = std::function<Result<void>(Engine& engine, const std::string& run_id)>;
  Result<std::string> control(const std::string& run, std::string_view did, const Action& action);
  Result<std::unique_ptr<Loop>> open_loop(OpenMode mode);

  NamedStore store_;
  Context& context_;
  std::optional<StoreReader> reader_;
};

}  // namespace holdfast
