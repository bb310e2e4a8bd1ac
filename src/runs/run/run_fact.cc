#include "runs/run/run_fact.h"

#include "runs/facts/fact_codec.h"

namespace holdfast {

std::string_view kind_of(const RunFact& fact) { return fact_kind(fact); }

Result<NewEntry> to_entry(const RunFact& fact, TimeMs at) { return encode_fact(fact, at); }

Result<RunFact> run_fact(std::string_view kind, std::string_view data) {
  return FactDecoder<RunFact>::decode(kind, data);
}

TransitionTaken transition_of(const Payload& transition) {
  const auto taken = transition.empty() ? Result<TransitionTaken>(TransitionTaken{})
                                        : from_json<TransitionTaken>(transition.view());
  return taken.ok() ? taken.value() : TransitionTaken{};
}

Result<NewEntry> to_entry(const RunIndexed& fact, TimeMs at) { return encode_fact(fact, at); }
Result<NewEntry> to_entry(const RunCataloged& fact, TimeMs at) { return encode_fact(fact, at); }
Result<NewEntry> to_entry(const DefinitionRegistered& fact, TimeMs at) {
  return encode_fact(fact, at);
}

Result<NewEntry> to_entry(const WorkflowRegistered& fact, TimeMs at) {
  return encode_fact(fact, at);
}

ThreadId workflow_thread(std::string_view workflow) {
  auto thread = ThreadId::parse("workflow:" + std::string(workflow));
  return std::move(thread).value();
}

ThreadId definition_thread(std::string_view fingerprint) {
  auto thread = ThreadId::parse("definition:" + std::string(fingerprint));
  return std::move(thread).value();
}

}  // namespace holdfast
