// The names of the events that a wait accepts, for people.
#pragma once

#include <string>

#include "runs/run/run_event_facts.h"

namespace holdfast {

// "paid", or "paid or cancelled" of any_of.
std::string event_names(const ExternalEventWaitOpened& wait);

}  // namespace holdfast
