// Our own form of a profile.
#include <fmt/format.h>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "workloads/profile_formats.hpp"

namespace trainyard {
namespace {

constexpr Range kAnyCount{1, 1e6, false};

Schema seconds_list(std::string help) { return schema::list(schema::quantity(Dimension::seconds, between(0, 1e6), "a time"), kAnyCount, std::move(help)); }
Schema bytes_list(std::string help) { return schema::list(schema::quantity(Dimension::bytes, between(0, 1e15), "bytes"), kAnyCount, std::move(help)); }

Schema layer_schema() {
  const auto bytes = [](const char* help) { return schema::quantity(Dimension::bytes, between(0, 1e15), help); };
  const auto flops = [](const char* help) { return schema::quantity(Dimension::flops, between(0, 1e24), help); };
  return schema::object({schema::required("name", schema::text("name of the layer")), schema::optional("parameters", bytes("bytes of its parameters")),
                         schema::optional("output", bytes("bytes of one sample that the layers behind read")),
                         schema::optional("saved", bytes("bytes of one sample kept for the backward pass")),
                         schema::optional("inputs", schema::list(schema::text("a layer"), kAnyCount, "layers that it reads"), "the layer before"),
                         schema::optional("forward_flops", flops("of one sample")), schema::optional("backward_flops", flops("of one sample"))},
                        "a layer");
}

Schema times_schema() {
  return schema::object({schema::required("gpu", schema::text("name in the GPU catalogue")),
                         schema::optional("tensor", schema::integer(between(1, 1024), "devices that share each layer"), "1"),
                         schema::required("micro_batch", schema::number(above(0, 1e9), "samples")),
                         schema::required("forward", seconds_list("of each layer, with its tensor group's collectives")),
                         schema::required("backward", seconds_list("of each layer")),
                         schema::optional("saved", bytes_list("kept on one device, of the micro-batch")),
                         schema::optional("parameters", bytes_list("of one device"))},
                        "all layers on one type of device at one micro-batch and tensor size");
}

Schema scaled_schema() {
  return schema::object({schema::required("gpu", schema::text("a type without measurements")), schema::required("from", schema::text("a measured type")),
                         schema::required("times", schema::number(above(0, 1e6), "factor on its times")),
                         schema::required("because", schema::text("where the factor comes from"))},
                        "a type whose times are another's, scaled");
}

Schema profile_schema() {
  return schema::object({schema::required("profile", schema::text("name of the network")), schema::required("source", schema::text("who measured it, how")),
                         schema::required("precision", schema::choice({"fp16", "bf16", "fp32"}, "type of weights and activations")),
                         schema::optional("sequence_length", schema::integer(between(1, 1 << 24), "tokens of a sample"), "samples have no tokens"),
                         schema::required("layers", schema::list(layer_schema(), kAnyCount, "in order of the forward pass")),
                         schema::required("times", schema::list(times_schema(), kAnyCount, "measurements")),
                         schema::optional("scaled", schema::list(scaled_schema(), kAnyCount, "types that were not measured"))},
                        "a profile");
}

template <class Q>
std::optional<Q> quantity_of(const View& value) {
  return value ? std::optional<Q>(value.quantity<Q>()) : std::nullopt;
}

/// A number with a dash (`1-2`) would read as a range in a Plan.
void check_name(const ProfileLayer& layer, Diagnostics& diagnostics) {
  const std::string& name = layer.name;
  if (name.empty() || (name.find_first_not_of("0123456789-:") == std::string::npos && name.find_first_of("-:") != std::string::npos))
    diagnostics.add(layer.place, fmt::format("{:?} is no name of a layer: a Plan would read it as a range", name));
}

ProfileLayer layer_of(const View& value) {
  ProfileLayer layer;
  layer.name = value["name"].text();
  layer.place = value.place();
  layer.parameters = quantity_of<Bytes>(value["parameters"]);
  layer.output = quantity_of<Bytes>(value["output"]);
  layer.saved = quantity_of<Bytes>(value["saved"]);
  layer.forward_flops = quantity_of<Flops>(value["forward_flops"]);
  layer.backward_flops = quantity_of<Flops>(value["backward_flops"]);
  if (const View inputs = value["inputs"])
    for (std::size_t i = 0; i < inputs.size(); ++i) layer.inputs.push_back(inputs.at(i).text());
  return layer;
}

class TimesReader {
 public:
  TimesReader(std::size_t layers, Diagnostics& diagnostics) : layers_(layers), diagnostics_(diagnostics) {}

  ProfileColumn column(const View& value) {
    ProfileColumn column;
    column.gpu = value["gpu"].text();
    column.tensor = int(value["tensor"].integer_or(1));
    column.samples = value["micro_batch"].number();
    column.place = value.place();
    column.forward = entries<Seconds>(value["forward"]);
    column.backward = entries<Seconds>(value["backward"]);
    column.saved = entries<Bytes>(value["saved"]);
    column.parameters = entries<Bytes>(value["parameters"]);
    return column;
  }

 private:
  template <class Q>
  std::vector<Q> entries(const View& list) {
    std::vector<Q> all;
    for (std::size_t i = 0; list && i < list.size(); ++i) all.push_back(list.at(i).quantity<Q>());
    if (list && all.size() != layers_) {
      diagnostics_.add(list.place(), fmt::format("{} entries for {} layers", all.size(), layers_));
      all.resize(layers_);
    }
    return all;
  }

  std::size_t layers_;
  Diagnostics& diagnostics_;
};

void add_scaled(const View& value, ProfileTable& table, Diagnostics& diagnostics) {
  const std::string gpu = value["gpu"].text(), from = value["from"].text();
  const double factor = value["times"].number();
  std::vector<ProfileColumn> made;
  for (ProfileColumn column : table.columns) {
    if (column.gpu == gpu) return diagnostics.add(value.place(), fmt::format("{} has times of its own", gpu));
    if (column.gpu != from || !column.rule.empty()) continue;
    column.gpu = gpu;
    column.place = value.place();
    column.rule = fmt::format("times of {} x {} ({})", from, factor, value["because"].text());
    for (Seconds& time : column.forward) time *= factor;
    for (Seconds& time : column.backward) time *= factor;
    made.push_back(std::move(column));
  }
  if (made.empty()) diagnostics.add(value["from"].place(), fmt::format("no times of {:?}", from));
  table.columns.insert(table.columns.end(), made.begin(), made.end());
}

}  // namespace

ProfileTable read_profile(const std::string& path, const SourcePlace& place, Diagnostics& diagnostics) {
  Diagnostics found;
  const ConfigValue document = read_yaml_file(path, found);
  ProfileTable table;
  if (found.empty() && check(document, profile_schema(), found)) {
    const View root(document);
    table.name = root["profile"].text();
    table.precision = data_type_from(root["precision"].text());
    if (root["sequence_length"]) table.sequence_length = double(root["sequence_length"].integer());
    for (std::size_t i = 0; i < root["layers"].size(); ++i) {
      table.layers.push_back(layer_of(root["layers"].at(i)));
      check_name(table.layers.back(), found);
    }
    TimesReader reader(table.layers.size(), found);
    for (std::size_t i = 0; i < root["times"].size(); ++i) table.columns.push_back(reader.column(root["times"].at(i)));
    for (std::size_t i = 0; root["scaled"] && i < root["scaled"].size(); ++i) add_scaled(root["scaled"].at(i), table, found);
  }
  keep_mistakes(found, {path, "", {}, {}, place}, diagnostics);
  return table;
}

}  // namespace trainyard
