// Arguments: declares what a command takes, and where the values go. The targets must live until
// the command line is parsed. Names of options include the dashes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace holdfast::cli {

class Arguments {
 public:
  explicit Arguments(CLI::App& app) : app_(app) {}

  // Positional arguments.
  void required(const char* name, std::string& target, const std::string& help);
  void optional(const char* name, std::string& target, const std::string& help);
  void one_or_more(const char* name, std::vector<std::string>& target, const std::string& help);
  void any(const char* name, std::vector<std::string>& target, const std::string& help);

  // --name TYPE. Numbers are decimal. A list takes one value each time the option is given.
  void option(const char* name, const char* type, std::string& target, const std::string& help);
  void option(const char* name, const char* type, std::uint64_t& target, const std::string& help);
  void option(const char* name, const char* type, std::optional<std::uint64_t>& target,
              const std::string& help);
  void option(const char* name, const char* type, std::vector<std::string>& target,
              const std::string& help);
  void flag(const char* name, bool& target, const std::string& help);

  // Constraints on arguments that are declared already.
  void require(const char* name);
  void restrict_to(const char* name, const std::vector<std::string>& words);
  void exclude(const char* name, const char* other);
  void need(const char* name, const char* other);

 private:
  CLI::App& app_;
};

}  // namespace holdfast::cli
