#include "lab/broker_sim/sim_task.h"

#include <cstdint>
#include <utility>

#include "holdfast/assert.h"

#ifdef HOLDFAST_SANITIZED
#include <semaphore>

#include "base/threads.h"
#else
#include <ucontext.h>
#endif

namespace holdfast::broker_sim {

#ifdef HOLDFAST_SANITIZED

class SimTask::Stack {
 public:
  explicit Stack(SimTask& task) {
    const auto started = thread_.start([this, &task] {
      go_.acquire();
      task.execute();
      back_.release();
    });
    HOLDFAST_ASSERT(started.ok());
  }
  void enter() {
    go_.release();
    back_.acquire();
  }
  void leave() {
    back_.release();
    go_.acquire();
  }

 private:
  std::binary_semaphore go_{0};
  std::binary_semaphore back_{0};
  ThreadGroup thread_;
};

#else

class SimTask::Stack {
 public:
  explicit Stack(SimTask& task) : task_(task), memory_(std::make_unique<Memory>()) {
    HOLDFAST_ASSERT(getcontext(&own_) == 0);
    own_.uc_stack.ss_sp = memory_->bytes;
    own_.uc_stack.ss_size = sizeof(memory_->bytes);
    own_.uc_link = &owner_;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&own_, reinterpret_cast<void (*)()>(&begin), 2, static_cast<unsigned>(self >> 32U),
                static_cast<unsigned>(self));
  }
  void enter() { HOLDFAST_ASSERT(swapcontext(&owner_, &own_) == 0); }
  void leave() { HOLDFAST_ASSERT(swapcontext(&own_, &owner_) == 0); }

 private:
  struct Memory {
    Memory() {}  // leaves the bytes as they are: most are never touched
    alignas(64) char bytes[1U << 19U];
  };

  // Arguments are ints: a pointer needs two.
  static void begin(unsigned high, unsigned low) {
    reinterpret_cast<Stack*>(static_cast<std::uintptr_t>(high) << 32U | low)->task_.execute();
  }

  SimTask& task_;
  std::unique_ptr<Memory> memory_;
  ucontext_t owner_{};
  ucontext_t own_{};
};

#endif

SimTask::SimTask(std::function<void()> body)
    : body_(std::move(body)), stack_(std::make_unique<Stack>(*this)) {}

SimTask::~SimTask() { kill(); }

void SimTask::execute() {
  try {
    if (!killed_) {
      body_();
    }
  } catch (const ProcessDied&) {
    killed_ = true;
  }
  ended_ = true;
}

void SimTask::run() {
  HOLDFAST_ASSERT(!ended_);
  stack_->enter();
}

void SimTask::park() {
  stack_->leave();
  if (killed_) {
    throw ProcessDied{};
  }
}

void SimTask::kill() {
  if (!ended_) {
    killed_ = true;
    run();
  }
}

}  // namespace holdfast::broker_sim
