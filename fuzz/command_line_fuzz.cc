// The command line: one argument per line.
#include "apps/cli/cli_parse.h"
#include "fuzz/target.h"

namespace holdfast::fuzz::command_line_fuzz {
namespace {

constexpr std::size_t kMaxArguments = 40;

void check(std::string_view input) {
  std::vector<std::string> texts{"holdfast"};
  while (!input.empty() && texts.size() < kMaxArguments) {
    const std::string_view line = fuzz::take_line(input);
    texts.emplace_back(line.substr(0, line.find('\0')));  // as a C string ends
  }
  std::vector<char*> arguments;
  arguments.reserve(texts.size());
  for (std::string& text : texts) {
    arguments.push_back(text.data());
  }
  const auto parsed = cli::parse_command_line(arguments);
  require(parsed.ok() || (parsed.error().code() == ErrorCode::invalid_argument &&
                          !parsed.error().message().empty()),
          "a command line is accepted, or rejected with a reason");
  if (parsed.ok()) {
    require(parsed.value().text.empty() == static_cast<bool>(parsed.value().run),
            "the result is a text to print or a command to run");
  }
}

}  // namespace

HOLDFAST_FUZZ_TARGET(command_line, check)

}  // namespace holdfast::fuzz::command_line_fuzz
