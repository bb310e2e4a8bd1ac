#include "apps/cli/cli_parse.h"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include <functional>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "apps/cli/option_groups.h"

namespace holdfast::cli::cli_parse_test {
namespace {

Result<CommandLine> parse(std::vector<std::string> words) {
  words.insert(words.begin(), "holdfast");
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  return parse_command_line(arguments);
}

std::string text_of(std::vector<std::string> words) {
  auto line = parse(std::move(words));
  EXPECT_TRUE(line.ok()) << line.error().text();
  return line.ok() ? line.value().text : "";
}

std::string message_of(std::vector<std::string> words) {
  auto line = parse(std::move(words));
  EXPECT_FALSE(line.ok());
  return line.ok() ? "" : line.error().text();
}

void walk(const CommandShape& shape, const std::string& path,
          const std::function<void(const CommandShape&, const std::string&)>& visit) {
  visit(shape, path);
  for (const CommandShape& command : shape.commands) {
    walk(command, path + (path.empty() ? "" : " ") + command.name, visit);
  }
}

// A command with arguments of every kind.
struct Sample {
  std::string store;
  std::string data = "{}";
  std::optional<std::uint64_t> from;
  std::uint64_t grace_s = 30;
  std::vector<std::string> listen;
  std::string log = "text";
  bool follow = false;
  BackendOptions backend;

  // Throws as the library does.
  explicit Sample(std::vector<std::string> words) {
    CLI::App app;
    Arguments arguments(app);
    arguments.required("STORE", store, "");
    arguments.optional("DATA", data, "");
    arguments.option("--from", "N", from, "");
    arguments.option("--grace", "SECONDS", grace_s, "");
    arguments.option("--listen", "HOST:PORT", listen, "");
    arguments.option("--log", "FORMAT", log, "");
    arguments.restrict_to("--log", {"text", "json"});
    arguments.flag("--follow,-f", follow, "");
    add_server(arguments, backend);
    std::reverse(words.begin(), words.end());  // as the library takes them
    app.parse(words);
  }
};

TEST(Arguments, values_reach_their_targets) {
  const Sample sample({"sqlite:a.db", R"({"a":[1,"x"]})", "--from", "3", "--grace", "5", "--listen",
                       "127.0.0.1:1", "--listen", "[::1]:2", "--log", "json", "-f"});
  EXPECT_EQ(sample.store, "sqlite:a.db");
  EXPECT_EQ(sample.data, R"({"a":[1,"x"]})");
  EXPECT_EQ(sample.from, 3U);
  EXPECT_EQ(sample.grace_s, 5U);
  EXPECT_EQ(sample.listen, (std::vector<std::string>{"127.0.0.1:1", "[::1]:2"}));
  EXPECT_EQ(sample.log, "json");
  EXPECT_TRUE(sample.follow);
}

TEST(Arguments, omitted_values_keep_their_defaults) {
  const Sample sample({"sqlite:a.db"});
  EXPECT_EQ(sample.data, "{}");
  EXPECT_EQ(sample.from, std::nullopt);
  EXPECT_EQ(sample.grace_s, 30U);
  EXPECT_FALSE(sample.follow);
}

TEST(Arguments, a_value_is_not_interpreted) {
  for (const std::string data : {"{}", "[]", "\"x\"", "-", "{\"a\":1}", "[1,2]", "''", ""}) {
    EXPECT_EQ(Sample({"sqlite:a.db", data}).data, data);
  }
}

TEST(Arguments, an_option_takes_one_value_at_a_time) {
  const Sample sample({"--listen", "a:1", "sqlite:a.db"});
  EXPECT_EQ(sample.listen, std::vector<std::string>{"a:1"});
  EXPECT_EQ(sample.store, "sqlite:a.db");
}

TEST(Arguments, a_backend_is_a_store_or_a_server) {
  const Sample sample({"s", "--server", "http://a:1", "--token-file", "t", "--tls-ca", "c"});
  EXPECT_EQ(sample.backend.server, "http://a:1");
  EXPECT_EQ(sample.backend.token_file, "t");
  EXPECT_EQ(sample.backend.tls_ca, "c");
}

TEST(Parse, append_takes_all_its_options) {
  const auto line = parse({"journal", "append", "sqlite:a.db", "run:1", "run_started",
                           R"({"a":[1,"x"]})", "--expected-rev", "3", "--at", "1767225600000"});
  ASSERT_TRUE(line.ok()) << line.error().text();
  EXPECT_TRUE(line.value().run);
}

TEST(Parse, numbers_are_decimal_and_nothing_else) {
  for (const std::string text : {"010", "0x10", "1e3", "-1", "1.5", "", "18446744073709551616"}) {
    EXPECT_FALSE(parse({"journal", "cat", "sqlite:a.db", "--from", text}).ok()) << text;
  }
  EXPECT_TRUE(parse({"journal", "cat", "sqlite:a.db", "--from", "10"}).ok());
}

TEST(Parse, every_command_has_json_examples_and_exit_codes) {
  std::size_t commands = 0;
  walk(program_shape(), "", [&](const CommandShape& shape, const std::string& path) {
    if (path.empty() || path == "help" || !shape.commands.empty()) {
      return;
    }
    ++commands;
    std::istringstream names(path);
    std::vector<std::string> words{std::istream_iterator<std::string>(names), {}};
    words.emplace_back("--help");
    const std::string text = text_of(words);
    EXPECT_NE(text.find("--json"), std::string::npos) << text;
    EXPECT_NE(text.find("Examples:"), std::string::npos) << text;
    EXPECT_NE(text.find("Exit codes:"), std::string::npos) << text;
    EXPECT_NE(text.find("Usage: holdfast " + path + " "), std::string::npos) << text;
    EXPECT_NE(text.find("holdfast " + path, text.find("Examples:")), std::string::npos) << text;
  });
  EXPECT_GT(commands, 40U);
}

TEST(Parse, names_of_commands_are_unique) {
  std::set<std::string_view> names;
  for (const CommandGroup& group : command_groups()) {
    for (const Command* const command : group.commands) {
      EXPECT_TRUE(names.insert(command->name).second) << command->name;
    }
  }
}

TEST(Parse, a_server_takes_all_its_options) {
  EXPECT_TRUE(parse({"server",   "--store",    "sqlite:a.db", "--listen", "127.0.0.1:1",
                     "--listen", "[::1]:2",    "--socket",    "/run/s",   "--tls-cert",
                     "c",        "--tls-key",  "k",           "--work",   "3",
                     "--log",    "json",       "--log-level", "debug",    "--grace",
                     "5",        "--max-body", "1000",        "--rate",   "7"})
                  .ok());
}

TEST(Parse, a_server_rejects_contradictions) {
  EXPECT_NE(message_of({"server", "--log", "xml"}).find("xml"), std::string::npos);
  EXPECT_NE(message_of({"server", "--tls-cert", "c"}).find("--tls-key"), std::string::npos);
  EXPECT_NE(message_of({"server", "--work", "-1"}).find("--work"), std::string::npos);
}

TEST(Parse, no_command_takes_a_token_as_an_argument) {
  walk(program_shape(), "", [](const CommandShape& shape, const std::string& path) {
    for (const CommandShape::Option& option : shape.options) {
      EXPECT_NE(option.name, "--token") << path;
    }
  });
}

TEST(Parse, json_is_recognised) {
  EXPECT_EQ(parse({"journal", "stat", "sqlite:a.db", "--json"}).value().form, Form::json);
  EXPECT_EQ(parse({"journal", "stat", "sqlite:a.db"}).value().form, Form::text);
}

TEST(Parse, without_a_command_the_help_is_shown) {
  EXPECT_NE(text_of({}).find("First commands to try"), std::string::npos);
  EXPECT_NE(text_of({"help"}).find("First commands to try"), std::string::npos);
  EXPECT_NE(text_of({"journal"}).find("verify"), std::string::npos);
}

TEST(Parse, a_usage_error_names_the_help_to_read) {
  EXPECT_NE(message_of({"journal", "cat"}).find("see holdfast journal cat --help"),
            std::string::npos);
  EXPECT_NE(message_of({"journal", "cat", "sqlite:a.db", "--frm"}).find("--frm"),
            std::string::npos);
  EXPECT_NE(message_of({"jornal"}).find("see holdfast --help"), std::string::npos);
  EXPECT_EQ(message_of({"journal", "append", "a", "b", "c", "d", "e\nf"}).find('\n'),
            std::string::npos);
}

}  // namespace
}  // namespace holdfast::cli::cli_parse_test
