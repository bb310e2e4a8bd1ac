// Registry: what the journal knows beside runs and queues: stored definitions, the current
// definition of each workflow, paused schedules, access tokens.
#pragma once

#include <map>
#include <set>

#include "access/tokens.h"
#include "base/undo.h"
#include "storage/entry/entry.h"

namespace holdfast {

// The definition that new runs of a workflow use, and since when.
struct RegisteredWorkflow {
  SharedText fingerprint;
  TimeMs at;

  HOLDFAST_FIELDS(required(fingerprint), required(at));
};

// Whether a cron trigger starts runs, as the last operator to change it set it.
struct ScheduleState {
  bool paused = false;
  TimeMs at;
  SharedText actor;

  HOLDFAST_FIELDS(optional(paused), required(at), optional(actor));
};
// The name of a trigger among the triggers of all workflows.
SharedText schedule_name(std::string_view workflow, std::string_view trigger);

class Registry {
 public:
  // The log must outlive this.
  explicit Registry(UndoLog& undo) : undo_(undo) {}
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  [[nodiscard]] bool knows_definition(const SharedText& fingerprint) const {
    return definitions_.contains(fingerprint);
  }
  [[nodiscard]] const std::set<SharedText>& definitions() const { return definitions_; }
  void add_definition(const SharedText& fingerprint);

  // The fingerprint of the definition that new runs of the workflow use; empty if there is none.
  [[nodiscard]] SharedText current(const SharedText& workflow) const;
  [[nodiscard]] const std::map<SharedText, RegisteredWorkflow>& workflows() const {
    return workflows_;
  }
  void set_current(const SharedText& workflow, const RegisteredWorkflow& registered);

  [[nodiscard]] const std::map<SharedText, ScheduleState>& schedules() const { return schedules_; }
  [[nodiscard]] bool is_paused(const SharedText& schedule) const;
  void set_schedule(const SharedText& name, const ScheduleState& schedule);
  // Changes whenever workflows() or schedules() may have changed.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

  Tokens& tokens() { return tokens_; }
  [[nodiscard]] const Tokens& tokens() const { return tokens_; }

  // An entry that is durable. Entries of other threads change nothing.
  void fold(const EntryView& entry);
  // From a checkpoint.
  struct Contents {
    std::vector<SharedText> definitions;
    std::map<std::string, RegisteredWorkflow> workflows;
    std::map<std::string, ScheduleState> schedules;
    std::vector<Token> tokens;
  };
  [[nodiscard]] Contents contents() const;
  void restore(Contents contents);

 private:
  void note_change();
  void fold_workflow(const EntryView& entry);

  UndoLog& undo_;
  std::set<SharedText> definitions_;  // by fingerprint
  std::map<SharedText, RegisteredWorkflow> workflows_;
  std::map<SharedText, ScheduleState> schedules_;  // by schedule_name
  std::uint64_t changes_ = 0;
  Tokens tokens_;
};

}  // namespace holdfast
