// Small values that tests of runs share: run ids, JSON and definitions.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runs/facts/ids.h"
#include "runs/language/definition/definition.h"
#include "tests/support/must.h"

namespace holdfast {

inline Payload json(std::string_view text) { return Payload::trusted(text); }

// The id that ends with the number.
inline RunId run_no(int number) {
  RunId run;
  run.uuid.bytes[14] = static_cast<std::byte>(number / 256);
  run.uuid.bytes[15] = static_cast<std::byte>(number % 256);
  return run;
}

inline std::shared_ptr<const Definition> parsed(const std::string& spec) {
  return must(Definition::parse(spec));
}

// A definition with these steps, a JSON array.
inline std::shared_ptr<const Definition> definition_of(std::string_view steps,
                                                       std::string_view workflow = "order") {
  return parsed(R"({"workflow":")" + std::string(workflow) + R"(","version":"1","steps":)" +
                std::string(steps) + "}");
}

}  // namespace holdfast
