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
struct Written {
  Json json;
  std::vector<std::string> path;

  [[nodiscard]] Written item(std::size_t index) const;
  [[nodiscard]] std::optional<Written> find(std::string_view name) const;
  [[nodiscard]] std::vector<Written> items() const;
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
  void fault(const Written& at, const std::string& message) {
    faults_.push_back({at.path, message, {}});
  }
  // Checks that it is an object with only these members.
  bool object(const Written& at, const std::vector<std::string_view>& members);
  // Checks that the name is one of `names`; what: "step".
  bool known(const Written& at, std::string_view name, const std::vector<std::string>& names,
             std::string_view what);
  std::optional<std::uint64_t> count(const Written& at, std::uint64_t most = 1'000'000);
  std::optional<bool> flag(const Written& at);
  std::optional<std::string> text(const Written& at);
  std::optional<Span> span(const Written& at);
  std::optional<std::int64_t> duration(const Written& at);
  std::optional<Condition> condition(const Written& at);
  std::optional<Payload> object_payload(const Written& at, std::string_view what);
  std::vector<std::string> words(const Written& at);  // a text or a list of texts

  void read_runs(const Written& at, UserWorld& world);
  void read_input(const Written& at, UserWorld& world);
  void check_input(const Written& at, const Payload& input, const UserWorld& world);
  void read_stubs(const Written& at, const std::vector<std::string>& names, std::string_view what,
                  std::map<std::string, Stub>& stubs);
  Stub read_stub(const Written& at);
  StubOutcome read_outcome(const Written& at, bool alone);
  void read_error(const Written& at, StubOutcome& outcome);
  void read_decisions(const Written& at, UserWorld& world);
  Decider read_decider(const Written& at, bool approval);
  void read_events(const Written& at, UserWorld& world);
  void read_cancel(const Written& at, UserWorld& world);
  void read_invariants(const Written& at, UserWorld& world);
  std::optional<Invariant> read_invariant(const Written& at);
  void read_question(const Written& at, std::string_view question, Invariant& invariant);
  void read_steps(const Written& at, Invariant& invariant, std::vector<std::string>& steps);
  std::set<TerminalStatus> read_ends(const Written& at);

  const Workflows& workflows_;
  KnownNames names_;
  ::holdfast::Faults hints_;
  std::vector<WorldFault> faults_;
};

}  // namespace holdfast::sim
