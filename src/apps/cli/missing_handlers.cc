#include "apps/cli/missing_handlers.h"

#include <fmt/format.h>

#include "runs/facts/ids.h"
#include "runs/view/view_words.h"

namespace holdfast::cli {

namespace {

bool is_built_in(std::string_view handler) {
  return handler == kExecHandler || handler == kHttpHandler || handler == kTimerHandler;
}

// "charge", "ship" and "refund"
std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 10;
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == kShown) {
      return list + fmt::format(" and {} more", names.size() - kShown);
    }
    list += i == 0 ? "" : i + 1 == names.size() ? " and " : ", ";
    list += fmt::format("\"{}\"", harmless(names[i]));
  }
  return list;
}

std::string text_of(const std::vector<std::string>& names, const std::string& store) {
  const bool one = names.size() == 1;
  return fmt::format(
      "holdfast: this command cannot execute {}: {} for a program with {}\n"
      "  in C++: engine.register_handler(\"{}\", ...) and engine.work(...) on {}\n"
      "  with other programs: holdfast server --store {}, then holdfast worker --handlers FILE\n",
      list_of(names), one ? "the step waits" : "the steps wait",
      one ? "the handler" : "the handlers", harmless(names.front()), store, store);
}

}  // namespace

std::set<std::string> needed_handlers(const Definitions& definitions) {
  std::set<std::string> handlers;
  for (const auto& definition : definitions) {
    for (const Step& step : definition->steps()) {
      if (!step.handler.empty()) {
        handlers.insert(step.handler.str());
      }
      if (step.spec.compensate.has_value()) {
        handlers.insert(step.spec.compensate->handler.str());
      }
    }
  }
  std::erase_if(handlers, is_built_in);
  return handlers;
}

std::set<std::string> waited_for(const StoreStatus& status) {
  std::set<std::string> handlers;
  for (const QueueStatus& queue : status.queues) {
    for (const auto& [handler, count] : queue.waiting_by_handler) {
      handlers.insert(handler);
    }
  }
  return handlers;
}

void MissingHandlers::report(const std::set<std::string>& handlers) {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> names;
  for (const std::string& handler : handlers) {
    if (!is_built_in(handler) && reported_.insert(handler).second) {
      names.push_back(handler);
    }
  }
  if (!names.empty() && !quiet_) {
    fmt::print(stderr, "{}", text_of(names, store_));
  }
}

}  // namespace holdfast::cli
