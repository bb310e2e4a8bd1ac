#include "runs/engine/definitions.h"

#include "base/fields.h"
#include "runs/run/run_fact.h"

namespace holdfast {

void Definitions::add(std::shared_ptr<const Definition> definition) {
  pinned_[definition->fingerprint()] = definition;
  current_[definition->workflow()] = std::move(definition);
}

void Definitions::keep(std::shared_ptr<const Definition> definition) {
  const SharedText fingerprint = definition->fingerprint();
  pinned_.emplace(fingerprint, std::move(definition));
}

Result<std::shared_ptr<const Definition>> Definitions::current(std::string_view workflow) const {
  const auto found = current_.find(SharedText(workflow));
  if (found == current_.end()) {
    return Error{ErrorCode::unknown_workflow,
                 "no workflow " + std::string(workflow) + " is registered in this process"}
        .with("workflow", workflow);
  }
  return found->second;
}

Result<std::shared_ptr<const Definition>> Definitions::pinned(const SharedText& fingerprint) {
  const auto found = pinned_.find(fingerprint);
  if (found != pinned_.end()) {
    return found->second;
  }
  const Error unknown =
      Error{ErrorCode::unknown_workflow,
            "the definition " + fingerprint.str() + " is neither registered nor in the journal"}
          .with("fingerprint", fingerprint.view());
  const auto thread = ThreadId::parse("definition:" + fingerprint.str());
  if (!thread.ok()) {
    return unknown;
  }
  HOLDFAST_TRY(const auto entries, journal_->load(thread.value(), {}, 1));
  if (entries.empty()) {
    return unknown;
  }
  // An entry that is not a definition counts as missing.
  const auto stored = from_json<DefinitionRegistered>(entries.front().data);
  auto definition = stored.ok() ? Definition::parse(stored.value().spec.view())
                                : Result<std::shared_ptr<const Definition>>(unknown);
  if (!definition.ok() || definition.value()->fingerprint() != fingerprint) {
    return unknown;
  }
  pinned_[fingerprint] = definition.value();
  return definition;
}

}  // namespace holdfast
