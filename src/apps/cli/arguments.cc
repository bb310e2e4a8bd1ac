#include "apps/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/parse_usage.h"
#include "base/text.h"

namespace holdfast::cli {

namespace {

// Broken into lines that fit beside the names in a help text.
std::string wrapped(const std::string& help) {
  constexpr std::size_t kColumns = 72;
  std::string text;
  std::size_t line = 0;  // where the current one begins
  for (std::size_t at = 0; at < help.size();) {
    const std::size_t end = std::min(help.find(' ', at), help.size());
    if (!text.empty()) {
      const bool fits = text.size() - line + 1 + (end - at) <= kColumns;
      text += fits ? ' ' : '\n';
      line = fits ? line : text.size();
    }
    text.append(help, at, end - at);
    at = end + 1;
  }
  return text;
}

// CLI11 would read 010 as 8.
template <typename Number>
void add_decimal(CLI::App& app, const char* name, const char* type, Number& target,
                 const std::string& help) {
  app.add_option_function<std::string>(
         name,
         [name = std::string(name), &target](const std::string& text) {
           const auto number = parse_decimal(text);
           if (!number.has_value()) {
             throw CLI::ValidationError(
                 fmt::format("{} needs a whole number, not \"{}\"", name, text));
           }
           target = *number;
         },
         wrapped(help))
      ->type_name(type);
}

}  // namespace

void Arguments::required(const char* name, std::string& target, const std::string& help) {
  app_.add_option(name, target, wrapped(help))->required()->type_name("");
}

void Arguments::optional(const char* name, std::string& target, const std::string& help) {
  app_.add_option(name, target, wrapped(help))->type_name("");
}

void Arguments::one_or_more(const char* name, std::vector<std::string>& target,
                            const std::string& help) {
  app_.add_option(name, target, wrapped(help))->required()->type_name("");
}

void Arguments::any(const char* name, std::vector<std::string>& target, const std::string& help) {
  app_.add_option(name, target, wrapped(help))->type_name("");
}

void Arguments::option(const char* name, const char* type, std::string& target,
                       const std::string& help) {
  app_.add_option(name, target, wrapped(help))->type_name(type);
}

void Arguments::option(const char* name, const char* type, std::uint64_t& target,
                       const std::string& help) {
  add_decimal(app_, name, type, target, help);
}

void Arguments::option(const char* name, const char* type, std::optional<std::uint64_t>& target,
                       const std::string& help) {
  add_decimal(app_, name, type, target, help);
}

void Arguments::option(const char* name, const char* type, std::vector<std::string>& target,
                       const std::string& help) {
  // One value each time, so that the next positional argument is not taken for another value.
  app_.add_option(name, target, wrapped(help))
      ->type_name(type)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

void Arguments::flag(const char* name, bool& target, const std::string& help) {
  app_.add_flag(name, target, wrapped(help));
}

void Arguments::require(const char* name) { app_.get_option(name)->required(); }

void Arguments::restrict_to(const char* name, const std::vector<std::string>& words) {
  app_.get_option(name)->check([words](const std::string& word) { return not_one_of(word, words); },
                               fmt::format("{{{}}}", fmt::join(words, ",")));
}

void Arguments::exclude(const char* name, const char* other) {
  app_.get_option(name)->excludes(other);
}

void Arguments::need(const char* name, const char* other) { app_.get_option(name)->needs(other); }

}  // namespace holdfast::cli
