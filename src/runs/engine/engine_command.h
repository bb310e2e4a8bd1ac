// Command: a request to the engine's loop. The loop calls decide, in turn, on state that may run
// ahead of the disk; when another process was first it takes everything back and calls decide
// again. settle is called once: when everything decide saw is durable, or with the error that
// made it fail.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "holdfast/result.h"

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
  // Whether the command waits for an unavailable store without a limit. Other commands fail with
  // unavailable after a while.
  [[nodiscard]] virtual bool waits_for_store() const { return false; }
};

using CommandPtr = std::shared_ptr<Command>;

// How long a command waits for an unavailable store: the limit of CoreOptions, or no limit.
enum class Patience : std::uint8_t { bounded, unbounded };

// A command made of two functions: one decides and returns the result, one receives it. A query
// is a command that emits nothing.
template <typename T>
class FunctionCommand final : public Command {
 public:
  using Decide = std::function<Result<T>(Turn&)>;
  using Done = std::function<void(Result<T>)>;

  FunctionCommand(Decide decide, Done done, Patience patience = Patience::bounded)
      : decide_(std::move(decide)), done_(std::move(done)), patience_(patience) {}

  Result<void> decide(Turn& turn) override {
    result_.emplace(decide_(turn));
    if (!result_->ok()) {
      return result_->error();
    }
    return {};
  }
  [[nodiscard]] bool waits_for_store() const override { return patience_ == Patience::unbounded; }
  void settle(Result<void> outcome) override {
    if (outcome.ok()) {
      done_(*std::move(result_));
    } else {
      done_(std::move(outcome).error());
    }
  }

 private:
  Decide decide_;
  Done done_;
  Patience patience_;
  std::optional<Result<T>> result_;
};

// The result of commands that have none.
struct Done {};

}  // namespace holdfast
