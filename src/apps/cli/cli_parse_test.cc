#include "apps/cli/cli_parse.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace holdfast {
namespace {

Result<CommandLine> parse(std::vector<std::string> words) {
  words.insert(words.begin(), "holdfast");
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  return parse_command_line(arguments);
}

template <typename Options>
Options parsed(std::vector<std::string> words) {
  auto line = parse(std::move(words));
  EXPECT_TRUE(line.ok()) << line.error().text();
  return std::get<Options>(line.value().command);
}

std::string message_of(std::vector<std::string> words) {
  auto line = parse(std::move(words));
  EXPECT_FALSE(line.ok());
  return line.ok() ? "" : line.error().text();
}

TEST(Parse, append_takes_everything) {
  const auto options =
      parsed<AppendOptions>({"journal", "append", "sqlite:a.db", "run:1", "run_started",
                             R"({"a":[1,"x"]})", "--expected-rev", "3", "--at", "1767225600000"});
  EXPECT_EQ(options.store, "sqlite:a.db");
  EXPECT_EQ(options.thread, "run:1");
  EXPECT_EQ(options.kind, "run_started");
  EXPECT_EQ(options.data, R"({"a":[1,"x"]})");
  EXPECT_EQ(options.expected_rev, 3U);
  EXPECT_EQ(options.at_ms, 1767225600000U);
}

TEST(Parse, data_reaches_the_command_as_it_was_written) {
  for (const std::string data : {"{}", "[]", "\"x\"", "-", "{\"a\":1}", "[1,2]", "''", ""}) {
    const auto options =
        parsed<AppendOptions>({"journal", "append", "sqlite:a.db", "run:1", "a", data});
    EXPECT_EQ(options.data, data);
  }
}

TEST(Parse, data_is_an_empty_object_when_left_out) {
  EXPECT_EQ(parsed<AppendOptions>({"journal", "append", "sqlite:a.db", "run:1", "a"}).data, "{}");
}

TEST(Parse, numbers_are_decimal_and_nothing_else) {
  for (const std::string text : {"010", "0x10", "1e3", "-1", "1.5", "", "18446744073709551616"}) {
    const auto line = parse({"journal", "cat", "sqlite:a.db", "--from", text});
    EXPECT_FALSE(line.ok()) << text;
  }
  EXPECT_EQ(parsed<CatOptions>({"journal", "cat", "sqlite:a.db", "--from", "10"}).from, 10U);
}

TEST(Parse, every_command_knows_json_and_help) {
  const std::vector<std::vector<std::string>> commands{
      {"journal", "append"},  {"journal", "stat"},   {"journal", "cat"},    {"journal", "verify"},
      {"journal", "export"},  {"journal", "import"}, {"journal", "copy"},   {"journal", "seal"},
      {"bench", "journal"},   {"bench", "engine"},   {"bench", "workflow"}, {"workflow", "check"},
      {"workflow", "schema"}, {"token", "create"},   {"token", "list"},     {"token", "revoke"}};
  for (auto words : commands) {
    words.emplace_back("--help");
    const std::string text = parsed<ShowText>(words).text;
    EXPECT_NE(text.find("--json"), std::string::npos) << text;
    EXPECT_NE(text.find("Examples:"), std::string::npos) << text;
    EXPECT_NE(text.find("holdfast " + words[0] + " " + words[1]), std::string::npos) << text;
  }
}

TEST(Parse, a_server_takes_what_it_needs) {
  const auto options =
      parsed<ServeOptions>({"server",   "--store",    "sqlite:a.db", "--listen", "127.0.0.1:1",
                            "--listen", "[::1]:2",    "--socket",    "/run/s",   "--tls-cert",
                            "c",        "--tls-key",  "k",           "--work",   "3",
                            "--log",    "json",       "--log-level", "debug",    "--grace",
                            "5",        "--max-body", "1000",        "--rate",   "7"});
  EXPECT_EQ(options.listen, (std::vector<std::string>{"127.0.0.1:1", "[::1]:2"}));
  EXPECT_EQ(options.socket, "/run/s");
  EXPECT_EQ(options.work, 3U);
  EXPECT_EQ(options.log, "json");
  EXPECT_EQ(options.grace_s, 5U);
  EXPECT_EQ(options.max_body_bytes, 1000U);
  EXPECT_EQ(options.max_connections, std::nullopt);
  EXPECT_EQ(options.rate, 7U);
}

TEST(Parse, a_server_refuses_what_it_cannot_mean) {
  EXPECT_NE(message_of({"server", "--log", "xml"}).find("xml"), std::string::npos);
  EXPECT_NE(message_of({"server", "--tls-cert", "c"}).find("--tls-key"), std::string::npos);
  EXPECT_NE(message_of({"server", "--work", "-1"}).find("--work"), std::string::npos);
}

TEST(Parse, a_place_is_a_store_or_a_server) {
  const auto options = parsed<ShowRunOptions>(
      {"show", "latest", "--server", "http://a:1", "--token-file", "t", "--tls-ca", "c"});
  EXPECT_EQ(options.backend.server, "http://a:1");
  EXPECT_EQ(options.backend.token_file, "t");
  EXPECT_EQ(options.backend.tls_ca, "c");
  EXPECT_EQ(parsed<ListRunsOptions>({"list", "--store", "sqlite:a"}).backend.store, "sqlite:a");
}

TEST(Parse, no_command_takes_a_token_as_an_argument) {
  const std::function<void(const CommandShape&)> inspect = [&](const CommandShape& shape) {
    for (const CommandShape::Option& option : shape.options) {
      EXPECT_NE(option.name, "--token") << shape.name;
    }
    for (const CommandShape& command : shape.commands) {
      inspect(command);
    }
  };
  inspect(program_shape());
}

TEST(Parse, json_is_noticed) {
  EXPECT_EQ(parse({"journal", "stat", "sqlite:a.db", "--json"}).value().form, OutputForm::json);
  EXPECT_EQ(parse({"journal", "stat", "sqlite:a.db"}).value().form, OutputForm::text);
}

TEST(Parse, without_a_command_the_help_is_shown) {
  EXPECT_NE(parsed<ShowText>({}).text.find("First commands to try"), std::string::npos);
  EXPECT_NE(parsed<ShowText>({"help"}).text.find("First commands to try"), std::string::npos);
  EXPECT_NE(parsed<ShowText>({"journal"}).text.find("verify"), std::string::npos);
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
}  // namespace holdfast
