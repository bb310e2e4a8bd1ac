#include "runs/language/yaml/document.h"

#include <gtest/gtest.h>

namespace holdfast::document_test {
namespace {

std::string json_of(std::string_view text) {
  const auto document = YamlDocument::parse(text);
  return document.ok() ? std::string(document.value().json().view()) : document.error().message();
}

// line:column
std::string location_of(std::string_view text, const std::vector<std::string>& path) {
  const auto document = YamlDocument::parse(text);
  EXPECT_TRUE(document.ok());
  if (!document.ok()) {
    return document.error().message();
  }
  const SourceLocation location = document.value().location(path);
  return std::to_string(location.line) + ":" + std::to_string(location.column);
}

TEST(YamlDocument, reads_all_forms_of_yaml) {
  EXPECT_EQ(json_of("a: 1\nb: [x, 'y', \"z\\n\"]\nc:\n  d: ~\n  e:\n"),
            R"({"a":1,"b":["x","y","z\n"],"c":{"d":null,"e":null}})");
  EXPECT_EQ(json_of("- a: 1\n  b: 2\n- - x\n  - y\n"), R"([{"a":1,"b":2},["x","y"]])");
  EXPECT_EQ(json_of("a: |\n  one\n  two\nb: >\n  one\n  two\nc: plain\n  text\n"),
            R"({"a":"one\ntwo\n","b":"one two\n","c":"plain text"})");
  EXPECT_EQ(json_of("---\n# only a comment\na: {b: c, 'd': \"e\"}\n...\n"),
            R"({"a":{"b":"c","d":"e"}})");
  EXPECT_EQ(json_of("%YAML 1.2\n---\nx"), R"("x")");
}

TEST(YamlDocument, an_empty_value_is_null) {
  EXPECT_EQ(json_of(""), "null");
  EXPECT_EQ(json_of("# nothing\n"), "null");
  EXPECT_EQ(json_of("---\n"), "null");
}

TEST(YamlDocument, json_is_yaml) {
  const std::string json =
      R"({"a":[1,-2.5e3,true,null,"\u00e4\/\ud83d\ude00"],"b":{},"c":[],"":{"x":"{}"}})";
  EXPECT_EQ(json_of(json), R"({"a":[1,-2.5e3,true,null,"ä/😀"],"b":{},"c":[],"":{"x":"{}"}})");
  EXPECT_EQ(json_of("{\n\t\"a\": [\n\t\t1,\n\t\t2\n\t]\n}\n"), R"({"a":[1,2]})");
}

TEST(YamlDocument, words_of_older_yaml_are_texts_and_names) {
  EXPECT_EQ(json_of("on: yes\nno: off\n"), R"({"on":"yes","no":"off"})");
  EXPECT_EQ(json_of("404: a\ntrue: b\n1.0: c\n"), R"({"404":"a","true":"b","1.0":"c"})");
}

TEST(YamlDocument, knows_the_location_of_each_value) {
  const std::string text =
      "workflow: w\n"
      "steps:\n"
      "  - name: a\n"
      "    retry:\n"
      "      max_attempts: 0\n"
      "  - {name: b, after: [a,  x]}\n";
  EXPECT_EQ(location_of(text, {}), "1:1");
  EXPECT_EQ(location_of(text, {"workflow"}), "1:1");
  EXPECT_EQ(location_of(text, {"steps"}), "2:1");
  EXPECT_EQ(location_of(text, {"steps", "0"}), "3:5");
  EXPECT_EQ(location_of(text, {"steps", "0", "retry"}), "4:5");
  EXPECT_EQ(location_of(text, {"steps", "0", "retry", "max_attempts"}), "5:7");
  EXPECT_EQ(location_of(text, {"steps", "1", "after"}), "6:15");
  EXPECT_EQ(location_of(text, {"steps", "1", "after", "1"}), "6:27");
}

TEST(YamlDocument, a_missing_value_is_located_at_its_parent) {
  const std::string text = "steps:\n  - name: a\n    retry:\n      delay: 1s\n";
  EXPECT_EQ(location_of(text, {"workflow"}), "1:1");
  EXPECT_EQ(location_of(text, {"steps", "0", "handler"}), "2:5");
  EXPECT_EQ(location_of(text, {"steps", "0", "retry", "codes", "0", "code"}), "3:5");
  EXPECT_EQ(location_of(text, {"steps", "7"}), "1:1");
  EXPECT_EQ(location_of(text, {"steps", "x"}), "1:1");
  EXPECT_EQ(location_of("", {"workflow"}), "1:1");
}

TEST(YamlDocument, aliases_stand_for_their_anchors) {
  const std::string text =
      "base: &base\n  delay: 1s\nlist:\n  - *base\n  - &x y\n  - *x\nagain: &all [*x]\n"
      "more: *all\n";
  EXPECT_EQ(json_of(text),
            R"({"base":{"delay":"1s"},"list":[{"delay":"1s"},"y","y"],"again":["y"],)"
            R"("more":["y"]})");
  EXPECT_EQ(location_of(text, {"list", "0"}), "4:5");
  EXPECT_EQ(location_of(text, {"list", "0", "delay"}), "2:3");
  EXPECT_EQ(location_of(text, {"more"}), "8:1");
}

TEST(YamlDocument, reports_the_location_of_a_syntax_error) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a: 1\nb: 2\n a: 3\n", "line 3, column"},
      {"a: [1, 2\nb: 3\n", "line 2, column"},
      {"a: 'x\n", "line 1, column 4: missing closing quote"},
      {"a: &b !!str \"x\\\"\n  y\n", "line 1, column 4: missing closing quote"},
      {"a: 'x''\n", "line 1, column 4: missing closing quote"},
      {"a: 'x", "line 1, column 6: missing closing quote"},
      {"{a: [1,", "line 1, column 1: a list or mapping cannot be a key; is a closing bracket"},
      {"a: b: c\n", "line 1, column"},
      {"a: 1\nb: 2\na: 3\n", "line 3, column 1: \"a\" appears twice, first on line 1"},
      {"a: {b: 1, \"b\": 2}\n", "line 1, column 11: \"b\" appears twice, first on line 1"},
      {"x: &x {a: 1}\ny:\n  <<: *x\n",
       "line 3, column 3: merge keys (<<) are not supported; write the fields out"},
      {"a: 1\n---\nb: 1\n", "a second document begins here; a file has one workflow"},
      {"a: 1\n]\n", "line 2, column"},
      {"a: !mine x\n", "line 1, column 4: unknown tag !mine; use"},
      {"a: !!set {x}\n", "line 1, column 4: the tag tag:yaml.org,2002:set does not fit here"},
      {"a: !!binary aGk=\n", "unknown tag tag:yaml.org,2002:binary; use"},
      {"a: 99999999999999999999\n", "line 1, column 4: the number 99999999999999999999"},
      {"a: .nan\n", "line 1, column 4: .nan is not a number in JSON"},
      {"a: *b\n", "line 1, column"},
      {"a: &a [*a]\n", "line 1, column 8: an alias refers to a value that contains it"},
      {"? [a, b]\n: c\n", "line 1, column 3: a list or mapping cannot be a key"},
      {"? {a: b}\n: c\n", "line 1, column 3: a list or mapping cannot be a key"},
      {"~: c\n", "line 1, column 1: a key is missing or null"},
      {"a: &x b\n*x : c\n", "line 2, column 1: an alias cannot be a key"},
      {"a:\n\t- b\n",
       "line 2, column 2: a list item cannot begin here; put it on its own line; the line is "
       "indented with a tab"},
      {"a: \"\\ud83d\"\n", "line 1, column"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_NE(json_of(text).find(message), std::string::npos) << text << "\n" << json_of(text);
  }
  EXPECT_EQ(json_of("a: &b !!str \"x\\\"\" \nb: 'it''s'\n"), R"({"a":"x\"","b":"it's"})");
  EXPECT_EQ(json_of("\"<<\": 1\n"), R"({"<<":1})");
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) {
    all += text;
  }
  return all;
}

TEST(YamlDocument, depth_is_limited) {
  EXPECT_EQ(json_of(repeated("[", 64) + repeated("]", 64)), repeated("[", 64) + repeated("]", 64));
  EXPECT_EQ(json_of(repeated("[", 65) + repeated("]", 65)),
            "line 1, column 65: nested more than 64 levels deep");
  EXPECT_EQ(json_of(repeated("[", 100'000) + repeated("]", 100'000)),
            "line 1, column 65: nested more than 64 levels deep");
  EXPECT_NE(json_of(repeated("- ", 100'000)).find("nested more than 64 levels deep"),
            std::string::npos);
  std::string aliases = "a0: &a0 [x]\n";
  for (int i = 1; i < 70; ++i) {
    aliases += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" +
               std::to_string(i - 1) + "]\n";
  }
  EXPECT_NE(json_of(aliases).find("nested more than 64 levels deep"), std::string::npos);
}

TEST(YamlDocument, the_number_of_values_is_limited) {
  EXPECT_EQ(json_of("[" + repeated("1,", 99'998) + "1]").size(), 2 * 99'999 + 1);
  EXPECT_NE(json_of("[" + repeated("1,", 99'999) + "1]").find("more than 100000 values"),
            std::string::npos);
}

TEST(YamlDocument, aliases_that_grow_without_limit_are_refused_at_once) {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c <= 'z'; ++c) {
    const std::string before = std::string("*") + static_cast<char>(c - 1);
    bomb += std::string(1, c) + ": &" + c + " [" + repeated(before + ", ", 9) + before + "]\n";
  }
  EXPECT_NE(json_of(bomb).find("more than 100000 values, aliases included"), std::string::npos);
  const std::string wide =
      "a: &a " + std::string(500'000, 'x') + "\nb: [" + repeated("*a, ", 50'000) + "*a]\n";
  EXPECT_NE(json_of(wide).find("more than 4 MiB of text"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::document_test
