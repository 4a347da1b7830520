#include "topologies/market/price_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/config/message.hpp"
#include "sim/config/text_file.hpp"
#include "sim/config/view.hpp"
#include "topologies/market/price_series.hpp"
#include "topologies/market/records.hpp"

namespace trainyard {
namespace {

/// One file being read.
class PriceReader {
 public:
  PriceReader(std::string path, std::string text, const PriceOptions& options, SourcePlace asked, Diagnostics& diagnostics)
      : path_(std::move(path)), text_(std::move(text)), lines_(path_, text_), options_(options), asked_(std::move(asked)), diagnostics_(diagnostics) {}

  std::optional<PriceSeries> read() {
    if (lines_.size() == 0) return fail(asked_, path_ + ": holds no price");
    if (options_.format == "aws") return aws();
    if (options_.format == "azure") return azure();
    if (options_.format == "gcp") return gcp();
    return options_.format == "skypilot" ? skypilot() : catalogue();
  }

 private:
  std::nullopt_t fail(const SourcePlace& place, std::string why) {
    diagnostics_.add(place, std::move(why));
    return std::nullopt;
  }
  std::nullopt_t fail(std::size_t line, int column, std::string why) { return fail(lines_.place(line, column), std::move(why)); }

  std::optional<PriceSeries> made_of(ZonePrices prices) {
    return price_series_of(std::move(prices), options_.zone, options_.loop, asked_, diagnostics_);
  }

  /// The one value that is wanted of those that the file has, or a mistake.
  std::optional<std::string> one_of_several(const char* what, const char* key, const std::string& wanted, const std::set<std::string>& values) {
    if (!wanted.empty() && values.contains(wanted)) return wanted;
    const std::vector<std::string> known(values.begin(), values.end());
    if (!wanted.empty()) return fail(asked_, unknown_name(fmt::format("{} in the prices", what), wanted, known));
    if (values.size() == 1) return *values.begin();
    return fail(asked_, fmt::format("prices of several: `{}` says which: {}", key, listed(known)));
  }

  static Schema aws_schema() {
    using namespace schema;
    const Schema entry = object({required("AvailabilityZone", text("zone")), required("InstanceType", text("instance")),
                                 required("ProductDescription", text("product")), required("SpotPrice", any("USD/h")),
                                 required("Timestamp", text("time"))},
                                "a price");
    return object({optional("NextToken", any("where the next page begins")), required("SpotPriceHistory", list(entry, between(0, 1e7), "prices"))},
                  "a spot price history of AWS");
  }

  std::optional<PriceSeries> aws() {
    const auto document = checked_json(text_, path_, aws_schema(), diagnostics_);
    if (!document) return std::nullopt;
    const View history = View(*document)["SpotPriceHistory"];
    if (history.size() == 0) return fail(history.place(), "the history is empty: no price is known");
    std::set<std::string> instances, products;
    for (std::size_t i = 0; i < history.size(); ++i) {
      instances.insert(history.at(i)["InstanceType"].text());
      products.insert(history.at(i)["ProductDescription"].text());
    }
    const auto instance = one_of_several("instance", "instance", options_.instance, instances);
    const auto product = one_of_several("product", "product", options_.product, products);
    return instance && product ? aws_prices(history, *instance, *product) : std::nullopt;
  }

  std::optional<PriceSeries> aws_prices(const View& history, const std::string& instance, const std::string& product) {
    ZonePrices prices;
    for (std::size_t i = history.size(); i-- > 0;) {  // the newest stands first
      const View entry = history.at(i);
      if (entry["InstanceType"].text() != instance || entry["ProductDescription"].text() != product) continue;
      const auto at = instant_in(entry["Timestamp"].text());
      if (!at) return fail(entry["Timestamp"].place(), fmt::format("{} is no time such as 2020-02-20T22:06:16.000Z", quoted(entry["Timestamp"].text())));
      const auto price = number_in(entry["SpotPrice"].value().scalar);
      if (!price) return fail(entry["SpotPrice"].place(), fmt::format("{} is no number", described(entry["SpotPrice"].value())));
      prices[entry["AvailabilityZone"].text()].push_back({*at, *price, entry["SpotPrice"].place()});
    }
    if (prices.empty()) return fail(asked_, fmt::format("no prices of {} for {}", product, instance));
    return made_of(std::move(prices));
  }

  /// `$0.24552`.
  std::optional<double> dollars(std::size_t line, const RecordCell& cell) {
    const auto price = cell.text.starts_with('$') ? number_in(cell.text.substr(1)) : std::nullopt;
    if (!price) return fail(line, cell.column, fmt::format("{} is no price such as $0.24552", quoted(cell.text)));
    return price;
  }

  std::optional<PriceSeries> azure() {
    const std::vector<RecordCell> header = lines_.cells(0);
    if (header.size() < 2 || header[0].text != "Date") return fail(0, 1, "no table of Azure prices: its first line is Date,INSTANCE,..");
    std::set<std::string> instances;
    for (std::size_t i = 1; i < header.size(); ++i) instances.emplace(header[i].text);
    const auto instance = one_of_several("instance", "instance", options_.instance, instances);
    if (!instance) return std::nullopt;
    std::size_t column = 1;
    while (header[column].text != *instance) ++column;
    std::vector<PriceSample> samples;
    for (std::size_t line = 1; line < lines_.size(); ++line) {
      if (lines_.blank(line)) continue;
      const std::vector<RecordCell> cells = lines_.cells(line);
      const auto day = day_in(cells[0].text);
      if (cells.size() != header.size() || !day) return fail(line, 1, "no line of M/D/YYYY and a price for each instance");
      if (!samples.empty() && *day < samples.back().at) return fail(line, 1, "the day before the one above it: the table is unordered");
      const auto price = dollars(line, cells[column]);
      if (!price) return std::nullopt;
      samples.push_back({*day, *price, lines_.place(line, cells[column].column)});
    }
    if (samples.empty()) return fail(0, 1, "a table without prices");
    return made_of({{"", std::move(samples)}});
  }

  /// The text after `label` up to the next comma.
  static std::string_view field(std::string_view line, std::string_view label) {
    const std::size_t at = line.find(label);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = line.substr(at + label.size());
    return rest.substr(0, rest.find(','));
  }

  std::optional<PriceSeries> gcp() {
    ZonePrices prices;
    std::set<std::string> types, counts;
    for (std::size_t line = 0; line < lines_.size(); ++line) {
      const std::string_view text = lines_.line(line);
      if (!text.starts_with("Zone: ")) continue;  // the log tells more than prices
      const std::string type(field(text, "GPU type: ")), count(field(text, "Number of GPUs: "));
      types.insert(type), counts.insert(count);
      if (type != options_.instance || count != std::to_string(options_.gpus)) continue;
      const auto price = dollars(line, {field(text, "Price per hour: "), 1});
      if (!price) return std::nullopt;
      auto& samples = prices[std::string(field(text, "Zone: "))];
      if (!samples.empty() && samples.back().usd_per_h != *price) return fail(line, 1, "another price than above for the same zone and GPUs");
      samples.assign(1, {0, *price, lines_.place(line)});
    }
    if (!types.empty() && prices.empty())
      return fail(asked_, fmt::format("no price of {} x {}; `instance` is one of {}, `gpus` one of {}", options_.gpus, quoted(options_.instance),
                                      listed({types.begin(), types.end()}), listed({counts.begin(), counts.end()})));
    if (prices.empty()) return fail(0, 1, "no line `Zone: .., GPU type: .., Number of GPUs: .., Price per hour: ..`");
    return made_of(std::move(prices));
  }

  std::optional<PriceSeries> skypilot() {
    using namespace schema;
    const auto document = checked_json(text_, path_, object({required("metadata", any("gap_seconds")), required("data", any("nodes")),
                                                             required("prices", list(any("USD/h"), between(1, 1e7), "USD/h at each tick"))},
                                                            "a trace of SkyPilot with prices"),
                                       diagnostics_);
    if (!document) return std::nullopt;
    const View prices = View(*document)["prices"];
    const ConfigValue* gap = View(*document)["metadata"].value().find("gap_seconds");
    const auto seconds = gap != nullptr ? number_in(gap->scalar) : std::nullopt;
    if (!seconds || *seconds <= 0) return fail(View(*document)["metadata"].place(), "no gap_seconds above 0");
    const std::size_t ticks = View(*document)["data"].size();
    if (prices.size() != ticks)
      return fail(View(*document)["prices"].place(), fmt::format("{} prices for {} ticks of data; one a tick is needed", prices.size(), ticks));
    std::vector<PriceSample> samples;
    for (std::size_t i = 0; i < prices.size(); ++i) {
      const auto price = number_in(prices.at(i).value().scalar);
      if (!price) return fail(prices.at(i).place(), fmt::format("{} is no number", described(prices.at(i).value())));
      samples.push_back({double(i) * *seconds, *price, prices.at(i).place()});
    }
    return made_of({{"", std::move(samples)}});
  }

  std::optional<PriceSeries> catalogue() {
    const std::vector<RecordCell> header = lines_.cells(0);
    const auto column = [&](std::string_view name) {
      const auto found = std::find_if(header.begin(), header.end(), [&](const RecordCell& cell) { return cell.text == name; });
      return static_cast<std::size_t>(found - header.begin());
    };
    const std::size_t instance = column("InstanceType"), spot = column("SpotPrice"), region = column("Region"), zone = column("AvailabilityZone"),
                      on_demand = column("Price");
    if (std::max({instance, spot, region}) == header.size()) return fail(0, 1, "no catalogue of SkyPilot: no InstanceType, SpotPrice and Region");
    ZonePrices prices;
    for (std::size_t line = 1; line < lines_.size(); ++line) {
      const std::vector<RecordCell> cells = lines_.cells(line);
      if (cells.size() != header.size()) return fail(line, 1, fmt::format("{} cells, the header has {}", cells.size(), header.size()));
      if (options_.instance.empty() || cells[instance].text != options_.instance || cells[spot].text.empty()) continue;
      const auto price = number_in(cells[spot].text);
      if (!price) return fail(line, cells[spot].column, fmt::format("{} is no price", quoted(cells[spot].text)));
      const std::size_t where = zone < header.size() ? zone : region;
      const auto usual = on_demand < header.size() ? number_in(cells[on_demand].text) : std::nullopt;
      if (usual && *price > *usual)
        return fail(line, cells[spot].column, fmt::format("a spot price of {:g} USD/h above the {:g} USD/h on demand: what catalogues write "
                                                          "where no spot market is", *price, *usual));
      auto& samples = prices[std::string(cells[where].text)];
      if (!samples.empty() && samples.back().usd_per_h != *price)
        return fail(line, cells[spot].column, "another price than above for the same instance and zone");
      samples.assign(1, {0, *price, lines_.place(line, cells[spot].column)});
    }
    if (prices.empty()) return fail(asked_, fmt::format("no spot price of the instance {}", quoted(options_.instance)));
    return made_of(std::move(prices));
  }

  std::string path_, text_;
  RecordText lines_;
  const PriceOptions& options_;
  SourcePlace asked_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::vector<std::string> price_formats() { return {"aws", "azure", "gcp", "skypilot", "skypilot_catalogue"}; }

std::optional<PriceSeries> read_prices(const std::string& path, const PriceOptions& options, const SourcePlace& asked,
                                       Diagnostics& diagnostics) {
  TextFile read = read_text_file(path);
  if (!read.error.empty()) {
    diagnostics.add(asked, fmt::format("{}: {}", path, read.error));
    return std::nullopt;
  }
  return PriceReader(path, std::move(read.text), options, asked, diagnostics).read();
}

}  // namespace trainyard
