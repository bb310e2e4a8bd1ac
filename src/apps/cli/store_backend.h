// StoreBackend: a store that this program opens.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "apps/cli/backend.h"
#include "apps/terminal/show_view.h"
#include "runs/engine/engine_loop.h"

namespace holdfast::cli {

class StoreBackend final : public Backend {
 public:
  StoreBackend(NamedStore store, Context& context)
      : Backend(store.suffix, context.form), store_(std::move(store)), context_(context) {}

  [[nodiscard]] std::string_view continue_hint() const override {
    return "execute it with: holdfast work";
  }
  Result<std::string> control(const RunControl& command) override;
  Result<StartedRun> start(const RunStart& command) override;
  Result<std::string> administer(const AdminCommand& command) override;
  Result<void> backup(std::ostream& out, const Progress& progress) override;
  [[nodiscard]] const char* backup_unit() const override { return "batches"; }

 private:
  Result<Answer> answer(const Query& query, Form form) override;

  // The store, opened once for reading.
  Result<StoreReader*> reader();
  // The store must exist.
  Result<Engine> engine();
  Result<std::unique_ptr<Loop>> open_loop(OpenMode mode);
  Result<std::string> run(const CreateToken& command);
  Result<std::string> run(const RevokeToken& command);
  Result<std::string> run(const ChangeSchedule& command);
  Result<std::string> run(const DeliverSchedule& command);
  Result<std::string> run(const RegisterWorkflow& command);
  Result<std::string> run(const DeadLetterBulkRequest& command);
  Result<std::string> run(const CloseCircuitRequest& command);
  [[nodiscard]] Error needs_server(std::string_view alternative) const;

  NamedStore store_;
  Context& context_;
  std::optional<StoreReader> reader_;

  friend class StoreQueries;
};

}  // namespace holdfast::cli
