#include "tests/cli/program.hpp"

#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

namespace trainyard {

namespace fs = std::filesystem;

const std::string kSmall =
    R"(cluster: {nodes: [{name: a, gpu: A100-SXM4-80GB, gpus_per_node: 8, nics: 8, nic: 200 Gbps, price: 20 USD/h}]}
workload: {model: llama-2-7b, sequence_length: 4096, global_batch: 16, precision: bf16, optimizer: adam, software: megatron-core-2024}
strategies:
  - {fixed: {tensor: 8, micro_batch: 1}}
  - {fixed: {tensor: 2, pipeline: 4, micro_batch: 1}}
)";

const std::string kTooLarge =
    R"(cluster: {nodes: [{name: v, gpu: A100-SXM4-40GB, gpus_per_node: 8, nics: 1, nic: 100 Gbps}]}
workload: {model: llama-2-70b, sequence_length: 4096, global_batch: 16, precision: fp16, optimizer: adam, software: megatron-core-2024}
strategies:
  - {fixed: {tensor: 8, micro_batch: 1}}
)";

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "trainyard-cli-XXXXXX").string();
  path_ = ::mkdtemp(name.data());
}

TemporaryFolder::~TemporaryFolder() { fs::remove_all(path_); }

std::string TemporaryFolder::file(const std::string& name) const { return path_ + "/" + name; }

std::string TemporaryFolder::file(const std::string& name, const std::string& text) const {
  std::ofstream(file(name), std::ios::binary) << text;
  return file(name);
}

std::string TemporaryFolder::listing() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return text;
}

Ended trainyard_program(const std::string& arguments, const std::string& before) {
  const TemporaryFolder folder;
  const std::string command = before + " '" TRAINYARD_PROGRAM "' " + arguments + " </dev/null >'" + folder.file("out") +
                              "' 2>'" + folder.file("err") + "'";
  const int status = std::system(command.c_str());
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, content(folder.file("out")), content(folder.file("err"))};
}

}  // namespace trainyard
