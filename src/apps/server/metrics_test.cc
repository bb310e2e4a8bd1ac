#include "apps/server/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <thread>

namespace holdfast::metrics_test {
namespace {

struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

struct Family {
  std::string help;
  std::string kind;
  std::vector<Sample> samples;
};
using Families = std::map<std::string, Family>;

// name="value" with escapes, at `at`, which moves behind it.
std::pair<std::string, std::string> read_label(const std::string& text, std::size_t& at) {
  const std::size_t equals = text.find("=\"", at);
  std::string name = text.substr(at, equals - at);
  std::string value;
  for (at = equals + 2; at < text.size() && text[at] != '"'; ++at) {
    const bool escape = text[at] == '\\';
    at += escape ? 1U : 0U;
    value += escape && text[at] == 'n' ? '\n' : text[at];
  }
  ++at;
  return {name, value};
}

Sample read_sample(const std::string& line) {
  Sample sample;
  std::size_t at = line.find_first_of("{ ");
  sample.name = line.substr(0, at);
  if (line.at(at) == '{') {
    for (++at; line.at(at) != '}';) {
      const auto label = read_label(line, at);
      EXPECT_TRUE(sample.labels.insert(label).second) << line;
      at += line.at(at) == ',' ? 1U : 0U;
    }
    ++at;
  }
  EXPECT_EQ(line.at(at), ' ') << line;
  std::size_t used = 0;
  const std::string number = line.substr(at + 1);
  sample.value = std::stod(number, &used);
  EXPECT_EQ(used, number.size()) << line;
  return sample;
}

// As Prometheus reads it: HELP, TYPE, then the samples of that family and no others.
Families parse(const std::string& text) {
  Families families;
  std::string current;
  std::istringstream lines(text);
  EXPECT_TRUE(text.empty() || text.back() == '\n');
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash;
    std::string word;
    if (line.starts_with("# HELP ")) {
      words >> hash >> word >> current;
      EXPECT_FALSE(families.contains(current)) << current << " is repeated";
      families[current].help = line.substr(8 + current.size());
    } else if (line.starts_with("# TYPE ")) {
      std::string name;
      words >> hash >> word >> name >> families[current].kind;
      EXPECT_EQ(name, current);
    } else {
      const Sample sample = read_sample(line);
      EXPECT_TRUE(sample.name.starts_with(current)) << line;
      families[current].samples.push_back(sample);
    }
  }
  return families;
}

Families written(const Metrics& metrics) {
  MetricsText text;
  metrics.write(text);
  return parse(std::move(text).take());
}

// The buckets of a histogram in order, then its sum and its count.
struct Shape {
  std::vector<std::pair<double, double>> buckets;
  double sum = -1;
  double count = -1;
};
Shape shape_of(const Family& family, const std::string& operation = "") {
  Shape shape;
  for (const Sample& sample : family.samples) {
    const auto label = sample.labels.find("operation");
    if (!operation.empty() && (label == sample.labels.end() || label->second != operation)) {
      continue;
    }
    if (sample.name.ends_with("_bucket")) {
      const std::string& le = sample.labels.at("le");
      shape.buckets.emplace_back(
          le == "+Inf" ? std::numeric_limits<double>::infinity() : std::stod(le), sample.value);
    } else if (sample.name.ends_with("_sum")) {
      shape.sum = sample.value;
    } else if (sample.name.ends_with("_count")) {
      shape.count = sample.value;
    }
  }
  return shape;
}

void expect_sound(const Shape& shape) {
  ASSERT_FALSE(shape.buckets.empty());
  for (std::size_t i = 1; i < shape.buckets.size(); ++i) {
    EXPECT_LT(shape.buckets[i - 1].first, shape.buckets[i].first);
    EXPECT_LE(shape.buckets[i - 1].second, shape.buckets[i].second) << "buckets are cumulative";
  }
  EXPECT_TRUE(std::isinf(shape.buckets.back().first));
  EXPECT_EQ(shape.buckets.back().second, shape.count);
  EXPECT_GE(shape.sum, 0);
}

double at_most(const Shape& shape, double bound) {
  for (const auto& [upper, count] : shape.buckets) {
    if (std::abs(upper - bound) < 1e-9) {
      return count;
    }
  }
  ADD_FAILURE() << "there is no bucket " << bound;
  return -1;
}

TEST(Metrics, every_family_has_help_and_a_type_that_fits_its_name) {
  Metrics metrics;
  metrics.answered("start_run", 201, 0.001);
  const Families families = written(metrics);
  EXPECT_GE(families.size(), 15U);
  for (const auto& [name, family] : families) {
    EXPECT_TRUE(name.starts_with("holdfast_")) << name;
    EXPECT_FALSE(family.help.empty()) << name;
    EXPECT_EQ(family.kind == "counter", name.ends_with("_total")) << name;
    EXPECT_FALSE(family.samples.empty()) << name;
    if (family.kind == "histogram") {
      expect_sound(shape_of(family));
    }
  }
}

TEST(Metrics, commits_are_counted_with_their_contents) {
  Metrics metrics;
  CommitReport report;
  report.entries = 7;
  report.bytes = 1000;
  report.commands = 3;
  report.write_us = 700;
  report.counts = FactCounts{1, 2, 3, 4, 5, 6, 7, 8};
  metrics.committed(report);
  metrics.committed(report);
  const Families families = written(metrics);
  const auto value = [&](const std::string& name) { return families.at(name).samples.at(0).value; };
  EXPECT_EQ(value("holdfast_commits_total"), 2);
  EXPECT_EQ(value("holdfast_facts_total"), 14);
  EXPECT_EQ(value("holdfast_fact_bytes_total"), 2000);
  EXPECT_EQ(value("holdfast_runs_started_total"), 2);
  EXPECT_EQ(value("holdfast_runs_ended_total"), 4);
  EXPECT_EQ(value("holdfast_attempts_scheduled_total"), 6);
  EXPECT_EQ(value("holdfast_claims_total"), 8);
  EXPECT_EQ(value("holdfast_heartbeats_total"), 10);
  EXPECT_EQ(value("holdfast_attempts_completed_total"), 12);
  EXPECT_EQ(value("holdfast_attempts_failed_total"), 14);
  EXPECT_EQ(value("holdfast_retries_total"), 16);
  const Shape seconds = shape_of(families.at("holdfast_commit_seconds"));
  EXPECT_EQ(at_most(seconds, 0.0005), 0);
  EXPECT_EQ(at_most(seconds, 0.001), 2);
  EXPECT_NEAR(seconds.sum, 0.0014, 1e-9);
  const Shape commands = shape_of(families.at("holdfast_group_commands"));
  EXPECT_EQ(at_most(commands, 2), 0);
  EXPECT_EQ(at_most(commands, 4), 2);
  EXPECT_EQ(commands.sum, 6);
}

TEST(Metrics, a_value_on_a_bound_counts_below_it_and_the_largest_in_infinity) {
  Metrics metrics;
  for (const std::uint64_t micros : {100U, 101U, 10'000'000U, 10'000'001U, 0U}) {
    CommitReport report;
    report.write_us = micros;
    metrics.committed(report);
  }
  const Shape shape = shape_of(written(metrics).at("holdfast_commit_seconds"));
  expect_sound(shape);
  EXPECT_EQ(at_most(shape, 0.0001), 2);
  EXPECT_EQ(at_most(shape, 0.00025), 3);
  EXPECT_EQ(at_most(shape, 10), 4);
  EXPECT_EQ(shape.count, 5);
  EXPECT_NEAR(shape.sum, 20.000202, 1e-6);
}

TEST(Metrics, requests_are_counted_by_operation_and_status) {
  Metrics metrics;
  metrics.answered("start_run", 201, 0.001);
  metrics.answered("start_run", 201, 0.001);
  metrics.answered("start_run", 409, 0.001);
  metrics.answered("list_runs", 200, 0.001);
  const Families families = written(metrics);
  std::map<std::pair<std::string, std::string>, double> counts;
  for (const Sample& sample : families.at("holdfast_http_requests_total").samples) {
    counts[{sample.labels.at("operation"), sample.labels.at("status")}] = sample.value;
  }
  EXPECT_EQ(counts,
            (decltype(counts){
                {{"start_run", "201"}, 2}, {{"start_run", "409"}, 1}, {{"list_runs", "200"}, 1}}));
  const Family& seconds = families.at("holdfast_http_request_seconds");
  EXPECT_EQ(shape_of(seconds, "start_run").count, 3);
  EXPECT_EQ(shape_of(seconds, "list_runs").count, 1);
  expect_sound(shape_of(seconds, "start_run"));
}

TEST(Metrics, label_values_are_escaped) {
  MetricsText text;
  text.family("holdfast_queue_waiting", MetricsText::Kind::gauge, "Attempts.");
  const std::string hostile = "a\"b\\c\nd} 7\n# HELP x";
  text.value(metric_label("queue", hostile) + "," + metric_label("handler", "h"), 2.5);
  text.value("", 3);
  const Families families = parse(std::move(text).take());
  ASSERT_EQ(families.size(), 1U);
  const Family& family = families.at("holdfast_queue_waiting");
  EXPECT_EQ(family.kind, "gauge");
  EXPECT_EQ(family.samples.at(0).labels.at("queue"), hostile);
  EXPECT_EQ(family.samples.at(0).labels.at("handler"), "h");
  EXPECT_EQ(family.samples.at(0).value, 2.5);
  EXPECT_EQ(family.samples.at(1).value, 3);
}

TEST(Metrics, counts_from_many_threads_add_up) {
  Metrics metrics;
  std::vector<std::thread> threads;
  constexpr int kThreads = 4;
  constexpr int kTimes = 2000;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&metrics] {
      CommitReport report;
      report.entries = 1;
      for (int i = 0; i < kTimes; ++i) {
        metrics.committed(report);
        metrics.answered("start_run", 201, 0.001);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const Families families = written(metrics);
  EXPECT_EQ(families.at("holdfast_facts_total").samples.at(0).value, kThreads * kTimes);
  EXPECT_EQ(shape_of(families.at("holdfast_http_request_seconds")).count, kThreads * kTimes);
}

}  // namespace
}  // namespace holdfast::metrics_test
