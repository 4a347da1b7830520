#include "topologies/node_spec.hpp"

#include <algorithm>
#include <cctype>

#include "sim/config/schema.hpp"
#include "sim/units/error.hpp"
#include "topologies/catalogue_reader.hpp"

namespace trainyard {
namespace {

constexpr BytesPerSecond kSocketLink = BytesPerSecond(62.4e9);  // 3 UPI links of 20.8 GB/s, Intel Xeon; recalled

/// Fills a NodeSpec from one entry, noting every mistake.
class SpecReader {
 public:
  SpecReader(const View& item, std::string fabric_transport, std::string directory, Diagnostics& diagnostics)
      : item_(item),
        fabric_transport_(std::move(fabric_transport)),
        directory_(std::move(directory)),
        diagnostics_(diagnostics) {}

  std::optional<NodeSpec> read() {
    const std::size_t before = diagnostics_.all().size();
    read_name();
    if (!read_hardware()) return std::nullopt;
    read_market();
    read_nics();
    read_inside(item_, instance_ != nullptr ? instance_->inside : "", directory_, spec_, diagnostics_);
    gather_nics();
    read_host_part();
    if (diagnostics_.all().size() > before) return std::nullopt;
    return spec_;
  }

 private:
  void fail(const View& where, std::string why) { diagnostics_.add(where.place(), std::move(why)); }

  void read_name() {
    spec_.name = item_["name"].text();
    spec_.count = static_cast<int>(item_["count"].integer_or(1));
    spec_.zone = item_["zone"].text_or("");
    spec_.region = item_["region"].text_or("");
    const auto allowed = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };
    const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
    const std::string& name = spec_.name;
    if (name.empty() || !std::all_of(name.begin(), name.end(), allowed) || std::all_of(name.begin(), name.end(), digit))
      fail(item_["name"], "\"" + name + "\" cannot name a group: letters, digits, - and _, not digits only");
  }

  bool read_hardware() {
    const View instance = item_["instance"], gpu = item_["gpu"], count = item_["gpus_per_node"];
    if (instance && gpu) return fail(gpu, "instance and gpu both say what the node is: leave one out"), false;
    if (!instance && !gpu) return fail(item_, "needs an instance, or a gpu with gpus_per_node"), false;
    return instance ? read_instance(instance, count) : read_gpu(gpu, count);
  }

  bool read_instance(const View& instance, const View& count) {
    instance_ = catalogue().instance(instance.text());
    if (instance_ == nullptr)
      return fail(instance, unknown_name("instance", instance.text(), catalogue().instance_names())), false;
    if (count) fail(count, "the instance " + instance_->name + " has " + std::to_string(instance_->gpus) + " GPUs");
    spec_.instance = instance_->name;
    spec_.gpu = catalogue().gpu(instance_->gpu);
    spec_.gpus = instance_->gpus;
    return true;
  }

  bool read_gpu(const View& gpu, const View& count) {
    spec_.gpu = catalogue().gpu(gpu.text());
    if (spec_.gpu == nullptr) return fail(gpu, unknown_name("GPU", gpu.text(), catalogue().gpu_names())), false;
    if (!count) return fail(item_, "needs gpus_per_node beside gpu"), false;
    spec_.gpus = static_cast<int>(count.integer());
    return true;
  }

  void read_market() {
    const std::string word = item_["market"].text_or("on_demand");
    if (word == "spot") spec_.market = MarketKind::spot;
    if (word == "reserved") spec_.market = MarketKind::reserved;
    if (const View price = item_["price"])
      spec_.price = {price.quantity<DollarsPerSecond>(), "scenario"};
    else if (instance_ != nullptr)
      spec_.price = instance_->price(spec_.market).value_or(PriceEntry{});
  }

  void read_nics() {
    const View nic = item_["nic"], nics = item_["nics"];
    BytesPerSecond rate = instance_ != nullptr ? instance_->nic : BytesPerSecond{};
    if (nic) rate = nic.is_map() ? nic["rate"].quantity<BytesPerSecond>() : nic.quantity<BytesPerSecond>();
    const int fallback = instance_ != nullptr ? instance_->nics : (nic ? 1 : 0);
    spec_.nics = static_cast<int>(nics.integer_or(fallback));
    if (spec_.nics > 0 && rate.value == 0) return fail(nics, "needs nic, the rate of one");
    nic_rate_ = rate;
    given_nics_ = spec_.nics;
  }

  /// More NICs than GPUs are taken together, unless every one has links of its own.
  void gather_nics() {
    if (spec_.nics == 0) return;
    nic_rate_ *= static_cast<double>(given_nics_) / spec_.nics;
    spec_.nic = link_class(known_transport(transport_name()), nic_rate_, item_["nic"], spec_.name + ".nic");
    if (spec_.nic.transport.family.empty()) spec_.nic.transport.family = transport_name();
  }

  [[nodiscard]] std::string transport_name() const {
    if (const View own = item_["transport"]) return own.text();
    if (!fabric_transport_.empty()) return fabric_transport_;
    return instance_ != nullptr ? instance_->transport : "infiniband";
  }

  void read_host_part() {
    const HostEntry& each = spec_.gpu->host;
    spec_.host = {each.cores * spec_.gpus, each.memory * spec_.gpus, each.dram * spec_.socket_count(), {}};
    if (instance_ != nullptr) overlay(instance_->host, spec_.host);
    read_host(item_["host"], spec_.host);
    const TransportEntry& host = known_transport("host");
    spec_.memory = link_class(host, spec_.host.dram / spec_.socket_count(), {}, "");
    spec_.sockets = link_class(host, kSocketLink, {}, "");
    spec_.storage = link_class(known_transport("storage"), spec_.host.storage, {}, "");
  }

  static void overlay(const HostEntry& from, HostEntry& onto) {
    if (from.cores > 0) onto.cores = from.cores;
    if (from.memory.value > 0) onto.memory = from.memory;
    if (from.dram.value > 0) onto.dram = from.dram;
    if (from.storage.value > 0) onto.storage = from.storage;
  }

  View item_;
  std::string fabric_transport_, directory_;
  Diagnostics& diagnostics_;
  const InstanceEntry* instance_ = nullptr;
  BytesPerSecond nic_rate_{};
  int given_nics_ = 0;
  NodeSpec spec_;
};

}  // namespace

// Every switch belongs to one NIC's block of GPUs, and no switch has more than gpus_per_switch of them.
int NodeSpec::switches() const {
  const int blocks = std::max(nics, 1);
  int found = 0;
  for (int block = 0; block < blocks; ++block) {
    const int first = (block * gpus + blocks - 1) / blocks;
    const int next = ((block + 1) * gpus + blocks - 1) / blocks;
    found += (next - first + gpus_per_switch - 1) / gpus_per_switch;
  }
  return found;
}

std::optional<NodeSpec> node_spec(const View& item, const std::string& fabric_transport, const std::string& directory,
                                  Diagnostics& diagnostics) {
  return SpecReader(item, fabric_transport, directory, diagnostics).read();
}

}  // namespace trainyard
