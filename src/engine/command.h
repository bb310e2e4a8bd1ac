// Command: a request to the engine's loop. The loop calls decide, in turn, on state that may run
// ahead of the disk; when another process was first it takes everything back and calls decide
// again. settle is called once: when everything decide saw is durable, or with the error that
// made it fail.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"

namespace holdfast {

class Turn;

class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  // A refusal leaves nothing behind: what was emitted before it is taken back.
  virtual Result<void> decide(Turn& turn) = 0;
  virtual void settle(Result<void> outcome) = 0;
};

using CommandPtr = std::shared_ptr<Command>;

// A command made of two functions: one decides and gives the answer, one receives it.
template <typename T>
class Ask final : public Command {
 public:
  using Question = std::function<Result<T>(Turn&)>;
  using Done = std::function<void(Result<T>)>;

  Ask(Question question, Done done) : question_(std::move(question)), done_(std::move(done)) {}

  Result<void> decide(Turn& turn) override {
    answer_.emplace(question_(turn));
    if (!answer_->ok()) {
      return answer_->error();
    }
    return {};
  }
  void settle(Result<void> outcome) override {
    if (outcome.ok()) {
      done_(*std::move(answer_));
    } else {
      done_(std::move(outcome).error());
    }
  }

 private:
  Question question_;
  Done done_;
  std::optional<Result<T>> answer_;
};

// For questions whose answer is only that they were carried out.
struct Done {};

}  // namespace holdfast
