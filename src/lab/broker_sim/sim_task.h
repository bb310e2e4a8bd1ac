// SimTask: a body with a stack of its own that runs only while its owner waits, so that the calls
// of many requests can be interleaved in a chosen order although each blocks. It is the thread of a
// connection: it parks where another request may come in between.
//
// A switch is a jump between two stacks of one thread. Under a sanitizer, which follows only real
// threads, the body has one, and only one of the two runs at a time.
#pragma once

#include <functional>
#include <memory>

namespace holdfast::broker_sim {

// Thrown by park() when the process of the task has died: the stack is unwound, and what was not
// durable is lost.
struct ProcessDied {};

class SimTask {
 public:
  explicit SimTask(std::function<void()> body);
  // Kills it if it has not ended.
  ~SimTask();
  SimTask(const SimTask&) = delete;
  SimTask& operator=(const SimTask&) = delete;

  // Until it parks or ends. Called by the owner only.
  void run();
  // Called by the body only: returns at the next run().
  void park();
  // It unwinds, now.
  void kill();
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  class Stack;

  void execute();

  std::function<void()> body_;
  bool killed_ = false;
  bool ended_ = false;
  std::unique_ptr<Stack> stack_;  // the last member: its thread may use the others
};

}  // namespace holdfast::broker_sim
