#include "base/threads.h"

#include <fmt/format.h>

#include <future>
#include <iterator>
#include <new>
#include <system_error>

#include "holdfast/assert.h"

namespace holdfast {

namespace {

Error cannot_start(std::size_t count, std::string_view why) {
  return Error{
      ErrorCode::io_error,
      fmt::format("cannot start {}: {}; use fewer threads, or raise the memory and process "
                  "limits (ulimit -v, ulimit -u)",
                  count == 1 ? "a thread" : fmt::format("{} threads", count), why)}
      .with("threads", static_cast<std::uint64_t>(count))
      .with(WhatNext::retry);  // nothing has been done
}

}  // namespace

Result<void> ThreadGroup::start(std::size_t count, const std::function<void()>& body) {
  return start_all(count, [&](std::size_t) -> const std::function<void()>& { return body; });
}

Result<void> ThreadGroup::start(const std::vector<std::function<void()>>& bodies) {
  return start_all(bodies.size(),
                   [&](std::size_t i) -> const std::function<void()>& { return bodies[i]; });
}

Result<void> ThreadGroup::start_all(std::size_t count, const BodyAt& body_at) {
  std::promise<bool> all_started;
  std::vector<std::thread> started;
  std::string why;
  try {
    const std::shared_future<bool> go = all_started.get_future().share();
    for (std::size_t i = 0; i < count; ++i) {
      started.emplace_back([go, body = body_at(i)] {
        if (go.get()) {
          body();
        }
      });
    }
    threads_.reserve(threads_.size() + count);
  } catch (const std::system_error& error) {
    why = error.code().message();
  } catch (const std::bad_alloc&) {
    why = "there is not enough memory";
  }
  all_started.set_value(why.empty());
  if (why.empty()) {
    std::move(started.begin(), started.end(), std::back_inserter(threads_));
    return {};
  }
  for (std::thread& thread : started) {
    thread.join();
  }
  return cannot_start(count, why);
}

void ThreadGroup::join() {
  for (std::thread& thread : threads_) {
    HOLDFAST_ASSERT(thread.get_id() != std::this_thread::get_id());
    thread.join();
  }
  threads_.clear();
}

}  // namespace holdfast
