// The contract of holdfast/lease_backend.h as GoogleTest tests, for backends that host applications
// supply.
//
//   find_package(holdfast REQUIRED COMPONENTS lease_backend_contract)
//   target_link_libraries(my_test PRIVATE holdfast::lease_backend_contract GTest::gtest_main)
//
//   class MyQueueUnderTest final : public holdfast::LeaseBackendUnderTest { ... };
//   const bool added = holdfast::add_lease_backend_contract(
//       "MyQueue", [] { return std::make_unique<MyQueueUnderTest>(); });
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "holdfast/lease_backend.h"
#include "holdfast/result.h"

namespace holdfast {

// One backend. It is destroyed at the end of a test, with its data.
class LeaseBackendUnderTest {
 public:
  virtual ~LeaseBackendUnderTest() = default;
  // A new handle, as another process would open it. Handles are used at the same time, from several
  // threads. All calls of a test have the same options.
  virtual Result<std::unique_ptr<LeaseBackend>> open(const LeaseBackendOptions& options) = 0;
  // The backend loses everything, as if it had been restarted without its data.
  virtual void lose_everything() = 0;
};

// Adds the tests for one kind of backend. `name` consists of letters and digits and becomes a part
// of the test names. Call it before testing::InitGoogleTest: usually to initialise a global
// variable. Returns true.
bool add_lease_backend_contract(const std::string& name,
                                std::function<std::unique_ptr<LeaseBackendUnderTest>()> make);

}  // namespace holdfast
