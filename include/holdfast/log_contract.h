// The contract of holdfast/log.h as GoogleTest tests, for logs that host applications supply.
//
//   find_package(holdfast REQUIRED COMPONENTS log_contract)
//   target_link_libraries(my_test PRIVATE holdfast::log_contract GTest::gtest_main)
//
//   class MyLogUnderTest final : public holdfast::LogUnderTest { ... };
//   const bool added = holdfast::add_log_contract(
//       "MyLog", holdfast::LogLifetime::durable, [] { return std::make_unique<MyLogUnderTest>();
//       });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "holdfast/log.h"
#include "holdfast/result.h"

namespace holdfast {

// Storage in which one log can live. It is destroyed at the end of a test, with its data.
class LogUnderTest {
 public:
  virtual ~LogUnderTest() = default;
  // A new handle on the log, as another process would open it; the first call creates the log.
  // Handles are used at the same time, from several threads.
  virtual Result<std::unique_ptr<LogStore>> open() = 0;
};

enum class LogLifetime : std::uint8_t {
  process,  // the log is gone when the process ends; several threads write to it
  durable,  // the tests also fork, write from several processes, and kill them
};

// Adds the tests for one kind of log. `name` consists of letters and digits and becomes a part of
// the test names. Call it before testing::InitGoogleTest: usually to initialise a global variable.
// Returns true.
bool add_log_contract(const std::string& name, LogLifetime lifetime,
                      std::function<std::unique_ptr<LogUnderTest>()> make);

}  // namespace holdfast
