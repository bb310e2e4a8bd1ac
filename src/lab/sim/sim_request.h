// Request: a command that a client or a worker submits to one process. It records where it was
// decided, so that the oracle can check the answer at exactly that point of the log.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lab/sim/oracle.h"
#include "runs/engine/engine_command.h"
#include "runs/engine/turn.h"

namespace holdfast::sim {

class Process;

// What a client received. In doubt: the process died or its store failed, so the command may have
// taken effect.
struct Reply {
  std::string code;  // "ok" or the code of the refusal; empty: in doubt
  std::string result;
  [[nodiscard]] bool ok() const { return code == "ok"; }
  [[nodiscard]] bool in_doubt() const { return code.empty(); }
};

class Request final : public Command, public std::enable_shared_from_this<Request> {
 public:
  // Decides the command and returns the result for the client, as JSON.
  using Decision = std::function<Result<std::string>(Turn&)>;
  using Done = std::function<void(const Reply&)>;

  Request(Process& process, Answer::What what, std::string params, Decision decision, Done done);

  Result<void> decide(Turn& turn) override;
  void settle(Result<void> outcome) override;
  // The process died: there will be no answer.
  void abandon();

  // The group of the process in which it was decided, and which facts of the group it caused.
  [[nodiscard]] std::uint64_t group() const { return group_; }
  [[nodiscard]] std::size_t first_fact() const { return first_fact_; }
  [[nodiscard]] std::size_t end_fact() const { return end_fact_; }
  [[nodiscard]] std::uint64_t decisions() const { return decisions_; }
  [[nodiscard]] const Answer& answer() const { return answer_; }
  // The process has answered the request.
  [[nodiscard]] bool settled() const { return settled_; }
  // The oracle has checked the answer.
  [[nodiscard]] bool checked() const { return checked_; }
  void set_checked() { checked_ = true; }
  // The client has received the answer, or knows that there will be none.
  [[nodiscard]] bool closed() const { return closed_; }
  void set_submitted(std::int64_t time_us) { submitted_us_ = time_us; }
  [[nodiscard]] std::int64_t submitted_us() const { return submitted_us_; }

 private:
  void deliver(const Reply& reply);

  Process& process_;
  Answer answer_;
  Decision decision_;
  Done done_;
  std::uint64_t group_ = 0;
  std::size_t first_fact_ = 0;
  std::size_t end_fact_ = 0;
  std::uint64_t decisions_ = 0;
  std::int64_t submitted_us_ = 0;
  bool checked_ = false;
  bool settled_ = false;
  bool closed_ = false;
};

using RequestPtr = std::shared_ptr<Request>;

}  // namespace holdfast::sim
