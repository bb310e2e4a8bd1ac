// Usage errors: what is wrong with a command line, what was probably meant, which help to read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace holdfast::cli {

// "holdfast journal cat"
std::string path_of(const CLI::App& app);
// The innermost command on the command line.
const CLI::App& deepest(const CLI::App& program);

// The code is invalid_argument.
Error usage_error(const CLI::App& program, const CLI::ParseError& error);
// The command that `names` leads to: {"journal", "cat"}. Fails with invalid_argument.
Result<const CLI::App*> find_command(const CLI::App& program,
                                     const std::vector<std::string>& names);
// `must be bash or zsh, not "fish"`; empty when the word is one of them.
std::string not_one_of(std::string_view word, const std::vector<std::string>& words);

}  // namespace holdfast::cli
