// WorldReader: reads the JSON of a world file. It records every fault with its location and
// continues, so that one pass finds all of them. Unknown members are refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_value.h"
#include "lab/sim/user_world.h"
#include "runs/language/definition/faults.h"

namespace holdfast::sim {

// A value and its path in the file.
struct FileValue {
  Json json;
  std::vector<std::string> path;

  [[nodiscard]] FileValue item(std::size_t index) const;
  [[nodiscard]] std::optional<FileValue> find(std::string_view name) const;
  [[nodiscard]] std::vector<FileValue> items() const;
  [[nodiscard]] bool is(Json::Kind kind) const { return json.kind() == kind; }
};

// All names that a world file can refer to.
struct KnownNames {
  explicit KnownNames(const Workflows& workflows);

  std::vector<std::string> workflows;
  std::vector<std::string> handlers;   // of steps and of compensations
  std::vector<std::string> executed;   // steps that a worker executes
  std::vector<std::string> decided;    // approvals and pauses
  std::vector<std::string> approvals;  // the approvals among them
  std::vector<std::string> events;
  std::map<std::string, std::vector<std::string>> steps;  // by workflow, with compensate:STEP
};

class WorldReader {
 public:
  explicit WorldReader(const Workflows& workflows) : workflows_(workflows), names_(workflows) {}

  UserWorld read(const Json& json);
  std::vector<WorldFault> take_faults() { return std::move(faults_); }

 private:
  void fault(const FileValue& at, const std::string& message) {
    faults_.push_back({at.path, message, {}});
  }
  // Checks that it is an object with only these members.
  bool object(const FileValue& at, const std::vector<std::string_view>& members);
  // Checks that the name is one of `names`; what: "step".
  bool known(const FileValue& at, std::string_view name, const std::vector<std::string>& names,
             std::string_view what);
  // Each of these reads one value; empty: it is a fault.
  std::optional<std::uint64_t> whole_number(const FileValue& at, std::uint64_t most);
  std::optional<std::uint64_t> count(const FileValue& at) { return whole_number(at, 1'000'000); }
  std::optional<std::uint64_t> percent(const FileValue& at) { return whole_number(at, 100); }
  std::optional<bool> flag(const FileValue& at);
  std::optional<std::string> text(const FileValue& at);
  std::optional<Span> span(const FileValue& at);
  std::optional<std::int64_t> duration(const FileValue& at);
  std::optional<Condition> condition(const FileValue& at);
  std::optional<Payload> object_payload(const FileValue& at, std::string_view what);
  std::vector<std::string> words(const FileValue& at);  // a text or a list of texts
  // One of the names of an enum; otherwise `message` is the fault.
  template <typename E>
  void take_word(const FileValue& at, std::string_view name, E& target, std::string_view message) {
    const auto found = at.find(name);
    if (const auto word = found ? text(*found) : std::nullopt) {
      const auto known = enum_from<E>(*word);
      target = known.value_or(target);
      if (!known.has_value()) {
        fault(*found, std::string(message));
      }
    }
  }
  // Reads a member, if it is there.
  template <typename T, typename Value>
  void take(const FileValue& at, std::string_view name, T& target,
            std::optional<Value> (WorldReader::*reader)(const FileValue&)) {
    if (const auto found = at.find(name)) {
      if (auto value = (this->*reader)(*found)) {
        target = *std::move(value);
      }
    }
  }
  // A value that can only be true, if it is there.
  void check_true(const FileValue& at) {
    if (!flag(at).value_or(true)) {
      fault(at, "can only be true");
    }
  }

  void read_runs(const FileValue& at, UserWorld& world);
  void read_input(const FileValue& at, UserWorld& world);
  void check_input(const FileValue& at, const Payload& input, const UserWorld& world);
  template <typename Read>
  void read_named(const FileValue& at, const std::vector<std::string>& names, std::string_view what,
                  const std::string& message, const Read& take_one);
  void read_stubs(const FileValue& at, const std::vector<std::string>& names, std::string_view what,
                  std::map<std::string, Stub>& stubs);
  Stub read_stub(const FileValue& at);
  StubOutcome read_outcome(const FileValue& at, bool alone);
  void read_error(const FileValue& at, StubOutcome& outcome);
  void read_decisions(const FileValue& at, UserWorld& world);
  Decider read_decider(const FileValue& at, bool approval);
  void read_events(const FileValue& at, UserWorld& world);
  void read_cancel(const FileValue& at, UserWorld& world);
  void read_invariants(const FileValue& at, UserWorld& world);
  std::optional<Invariant> read_invariant(const FileValue& at);
  void read_kind(const FileValue& at, Invariant& invariant);
  void read_step(const FileValue& at, Invariant& invariant);
  void read_steps(const FileValue& at, Invariant& invariant, std::vector<std::string>& steps);
  std::set<TerminalStatus> read_ends(const FileValue& at);

  const Workflows& workflows_;
  KnownNames names_;
  ::holdfast::Faults hints_;
  std::vector<WorldFault> faults_;
};

}  // namespace holdfast::sim
