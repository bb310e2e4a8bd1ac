#include "runs/run/event_names.h"

namespace holdfast {

std::string event_names(const ExternalEventWaitOpened& wait) {
  std::string names = wait.event.str();
  for (const AwaitedEvent& other : wait.others) {
    names += " or " + other.event.str();
  }
  return names;
}

}  // namespace holdfast
