// Definitions: the workflows this process knows. The definition that a run was
// started with is stored in the journal under its fingerprint, so the runs of other processes and
// of older versions continue too.
#pragma once

#include <map>
#include <memory>

#include "runs/language/definition/definition.h"
#include "storage/journal/journal.h"

namespace holdfast {

class Definitions {
 public:
  // The journal must outlive this.
  explicit Definitions(Journal& journal) : journal_(&journal) {}

  // From now on new runs of this workflow use this definition.
  void add(std::shared_ptr<const Definition> definition);
  // Only knows it by its fingerprint.
  void keep(std::shared_ptr<const Definition> definition);
  // unknown_workflow.
  Result<std::shared_ptr<const Definition>> current(std::string_view workflow) const;
  // What the fingerprint names, from memory or the journal. unknown_workflow.
  Result<std::shared_ptr<const Definition>> pinned(const SharedText& fingerprint);

 private:
  Journal* journal_;
  std::map<SharedText, std::shared_ptr<const Definition>> current_;  // by workflow
  std::map<SharedText, std::shared_ptr<const Definition>> pinned_;   // by fingerprint
};

}  // namespace holdfast
