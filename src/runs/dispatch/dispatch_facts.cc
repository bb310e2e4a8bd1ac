#include "runs/dispatch/dispatch_facts.h"

#include "runs/facts/fact_codec.h"

namespace holdfast {

namespace {

Error contradiction(std::string_view field, std::string_view what) {
  return Error{ErrorCode::invalid_argument, std::string(what)}.with("fields", field);
}

}  // namespace

template <>
Result<void> check_fact(const AttemptScheduled& fact) {
  if (fact.attempt_number == 0) {
    return contradiction("attempt_number", "attempts are numbered from 1");
  }
  return {};
}

template <>
Result<void> check_fact(const AttemptFailed& fact) {
  if (fact.retry_runnable_key.empty() == fact.retry_visible_at.has_value()) {
    return contradiction("retry_runnable_key, retry_visible_at",
                         "a retry has a key and a time, or neither");
  }
  if (fact.retry_runnable_key == fact.runnable_key) {
    return contradiction("retry_runnable_key", "a retry is an attempt of its own");
  }
  return {};
}

std::string_view kind_of(const DispatchFact& fact) { return fact_kind(fact); }

bool is_about(const DispatchFact& fact, const RunId& run) {
  return std::visit(
      [&](const auto& known) {
        if constexpr (requires { known.run_id; }) {
          return known.run_id == run;
        } else {
          return false;
        }
      },
      fact);
}

Result<NewEntry> to_entry(const DispatchFact& fact, TimeMs at) { return encode_fact(fact, at); }

Result<DispatchFact> dispatch_fact(std::string_view kind, std::string_view data) {
  return FactDecoder<DispatchFact>::decode(kind, data);
}

}  // namespace holdfast
