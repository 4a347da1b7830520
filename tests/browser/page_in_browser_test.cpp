// Pages of --report as a browser shows them: what must be there, and that nothing leaves them.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>

#include "tests/cli/program.hpp"

using namespace trainyard;

namespace {

/// The page at `file` after its scripts have run; what they say goes to `console`. No name is looked up, whatever asks
/// for it.
std::string shown(const TemporaryFolder& folder, const std::string& file) {
  INFO("needs Debian's package chromium");
  REQUIRE(std::system("command -v chromium >/dev/null") == 0);
  const std::string command =
      "chromium --headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run "
      "--host-resolver-rules='MAP * ~NOTFOUND' --allow-file-access-from-files --virtual-time-budget=8000 "
      "--window-size=1500,1000 --enable-logging=stderr --user-data-dir=" +
      folder.file("profile") + " --dump-dom 'file://" + file + "' >" + folder.file("dom.html") + " 2>" +
      folder.file("console");
  REQUIRE(std::system(command.c_str()) == 0);
  const std::string console = content(folder.file("console"));
  INFO(console);
  CHECK(console.find("Uncaught") == std::string::npos);
  CHECK(console.find("Content Security Policy") == std::string::npos);
  return content(folder.file("dom.html"));
}

bool has(const std::string& dom, const std::string& part) { return dom.find(part) != std::string::npos; }

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// Whether a chart of this name was drawn.
bool drawn(const std::string& dom, const std::string& chart) {
  const std::size_t at = dom.find("<div class=\"chart " + chart + "\"");
  return at != std::string::npos && dom.compare(dom.find('>', at) + 1, 4, "<svg") == 0;
}

/// What a page that is given `room` pixels of width needs, and how many things it fetched.
struct Framed {
  int width = 0, fetched = -1;
};
Framed framed(const TemporaryFolder& folder, const std::string& page, int room) {
  const std::string frame =
      folder.file("frame.html",
                  "<body><iframe src='" + page + "' style='border:0;height:900px;width:" + std::to_string(room) +
                      "px'></iframe><script>onload = () => setTimeout(() => { const page = frames[0]; document.title = "
                      "page.document.documentElement.scrollWidth + ' ' + "
                      "page.performance.getEntriesByType('resource').length; }, 1500)</script>");
  const std::string dom = shown(folder, frame);
  Framed result;
  const std::size_t at = dom.find("<title>");
  REQUIRE(at != std::string::npos);
  std::sscanf(dom.c_str() + at, "<title>%d %d", &result.width, &result.fetched);
  return result;
}

const std::string kHostile =
    R"(cluster: {nodes: [{name: a, gpu: A100-SXM4-80GB, gpus_per_node: 8, nics: 8, nic: 200 Gbps, price: 20 USD/h}]}
workload: {model: llama-2-7b, sequence_length: 4096, global_batch: 16, precision: bf16, optimizer: adam, software: megatron-core-2024}
variants: {"</script><script>document.title='taken'</script>\n\"'&": {workload.global_batch: 32}}
strategies: [{fixed: {tensor: 8, micro_batch: 1}}]
)";

}  // namespace

TEST_CASE("a page of results shows its table, its charts and its texts") {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", kSmall), page = folder.file("page.html");
  REQUIRE(trainyard_program("compare " + file + " --report " + page).status == 0);
  const std::string dom = shown(folder, page);
  for (const char* chart : {"times", "pareto", "gantt", "memory", "topology"}) {
    INFO(chart);
    CHECK(drawn(dom, chart));
  }
  CHECK(occurrences(dom, "<tr") >= 3);
  for (const char* text : {"USD/M tokens", "llama-2-7b", "stages:", "What each stage and stream does"}) {
    INFO(text);
    CHECK(has(dom, text));
  }
}

TEST_CASE("a page fits widths of 1,400 and of 400 pixels and fetches nothing") {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", kSmall), page = folder.file("page.html");
  REQUIRE(trainyard_program("compare " + file + " --report " + page).status == 0);
  for (const int room : {1400, 400}) {
    const Framed seen = framed(folder, page, room);
    CHECK(seen.width > room - 40);  // a scroll bar
    CHECK(seen.width <= room);
    CHECK(seen.fetched == 0);
  }
  const std::string other =
      folder.file("other.html", "<div style='width:600px'><img src='http://127.0.0.1:9/missing.png'></div>");
  const Framed seen = framed(folder, other, 400);
  CHECK(seen.width > 400);
  CHECK(seen.fetched == 1);
}

TEST_CASE("names that look like scripts are shown, not run") {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", kHostile), page = folder.file("page.html");
  REQUIRE(trainyard_program("compare " + file + " --report " + page).status == 0);
  const std::string dom = shown(folder, page);
  CHECK(has(dom, "<title>Trainyard: small</title>"));
  CHECK(has(dom, "&lt;/script&gt;&lt;script&gt;document.title='taken'"));
}

TEST_CASE("a sweep's page has a chart that its figures fill") {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", kSmall), page = folder.file("page.html");
  REQUIRE(trainyard_program("sweep " + file +
                            " --set workload.global_batch=16,32 --set cluster.nodes.a.nics=4,8 --store " +
                            folder.file("s.sweep") + " --report " + page)
              .status == 0);
  const std::string dom = shown(folder, page);
  CHECK(drawn(dom, "heat"));
  CHECK(has(dom, "The best by tokens a second"));
}

TEST_CASE("validation's page has predicted against measured") {
  const TemporaryFolder folder;
  const std::string page = folder.file("page.html");
  REQUIRE(trainyard_program("validate --source vtrain_multi --report " + page).status == 0);
  const std::string dom = shown(folder, page);
  for (const char* chart : {"scatter", "residual", "histogram"}) {
    INFO(chart);
    CHECK(drawn(dom, chart));
  }
}
