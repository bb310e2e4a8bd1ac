// The contract suite for the stores of this project. The public form is holdfast/log_contract.h.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "holdfast/log_contract.h"
#include "storage/log/store.h"

namespace holdfast {

class ContractSubject {
 public:
  virtual ~ContractSubject() = default;
  // A new handle, as another process would open it; the first call creates the log.
  virtual Result<std::unique_ptr<Store>> open_or_create() = 0;
};

// Like add_log_contract.
bool add_store_contract(const std::string& name, LogLifetime lifetime,
                        std::function<std::unique_ptr<ContractSubject>()> make);

}  // namespace holdfast
