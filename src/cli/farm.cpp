#include "cli/farm.hpp"

#include <unistd.h>

#include <chrono>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "cli/jobs.hpp"
#include "heed/base/error.hpp"
#include "heed/base/file.hpp"

namespace heed::cli {
namespace {

namespace fs = std::filesystem;
using ablate::AblationFiles;
using dist::Letter;
using dist::Mailbox;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr auto kPause = std::chrono::milliseconds(5);
constexpr auto kBeat = std::chrono::seconds(1);
constexpr auto kSilence = std::chrono::seconds(15);  // a rank that says nothing for so long is gone

std::string packed(const Json& json) {
  const std::vector<std::uint8_t> bytes = Json::to_cbor(json);
  return {bytes.begin(), bytes.end()};
}

Json unpacked(const std::string& text) { return Json::from_cbor(text); }

Job cell_job(const AblationFiles& files, const std::string& cell) {
  return {.arguments = {"ablate", "--out", files.folder.string(), "--cell", cell},
          .log = files.log(cell)};
}

/// What a cell wrote, by its place in the ablation's folder.
Json written_files(const AblationFiles& files, const std::string& cell) {
  Json written = Json::object();
  const auto add = [&](const fs::path& path) {
    const std::string bytes = read_file(path);
    written[fs::relative(path, files.folder).string()] =
        Json::binary(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
  };
  for (const fs::path& path : {files.log(cell), files.result(cell)}) {
    if (fs::exists(path)) add(path);
  }
  if (!fs::exists(files.run(cell))) return written;
  for (const auto& entry : fs::recursive_directory_iterator(files.run(cell))) {
    if (entry.is_regular_file()) add(entry.path());
  }
  return written;
}

/// The result comes last: with it the cell is finished.
void put_files(const AblationFiles& files, const std::string& cell, const Json& written) {
  const std::string result = fs::relative(files.result(cell), files.folder).string();
  const auto put = [&](const std::string& name, const Json& bytes) {
    const fs::path path = (files.folder / name).lexically_normal();
    HEED_CHECK(fs::relative(path, files.folder).native().substr(0, 2) != "..",
               "a rank sent a file for a place outside {}", files.folder.string());
    fs::create_directories(path.parent_path());
    write_file(path, {reinterpret_cast<const char*>(bytes.get_binary().data()),
                      bytes.get_binary().size()});
  };
  fs::remove_all(files.run(cell));
  for (const auto& [name, bytes] : written.items()) {
    if (name != result) put(name, bytes);
  }
  if (written.contains(result)) put(result, written.at(result));
}

/// The first rank's side: the queue, who has what, who is still there.
class Farmer {
 public:
  Farmer(const AblationFiles& files, const std::vector<std::string>& cells, std::size_t at_once,
         Mailbox& mailbox, const FarmEvents& events)
      : files_(files), cells_(cells), at_once_(at_once), mailbox_(mailbox), events_(events) {
    for (std::size_t i = 0; i < cells.size(); ++i) queue_.push_back(i);
    for (int rank = 1; rank < mailbox.size(); ++rank) heard_[rank] = Clock::now();
  }

  void run() {
    while (ended_ < cells_.size()) {
      while (!queue_.empty() && jobs_.running() < at_once_) {
        const std::size_t cell = take();
        jobs_.start(cell, cell_job(files_, cells_[cell]));
      }
      while (const auto job = jobs_.poll()) end(job->index, job->failure);
      while (const auto letter = mailbox_.receive()) open(*letter);
      look_for_the_lost();
      if (Clock::now() - beat_ > kBeat) say({{"what", "beat"}});
      std::this_thread::sleep_for(kPause);
    }
    say({{"what", "over"}, {"lost", lost_}});
    const auto last = Clock::now() + kBeat;
    while (mailbox_.sending() && Clock::now() < last) std::this_thread::sleep_for(kPause);
  }

 private:
  std::size_t take() {
    const std::size_t cell = queue_.front();
    queue_.pop_front();
    return cell;
  }

  void end(std::size_t cell, const std::string& failure) {
    ++ended_;
    events_.ended(cell, failure);
  }

  void open(const Letter& letter) {
    if (!heard_.contains(letter.from)) return;  // thought to be gone: another has its cells
    heard_[letter.from] = Clock::now();
    const Json json = unpacked(letter.text);
    if (json.at("what") == "ended") {
      const std::size_t cell = json.at("cell");
      if (owned_[letter.from].erase(cell) == 0) return;
      put_files(files_, cells_[cell], json.at("files"));
      end(cell, json.at("failure"));
    }
    if (json.at("what") == "free") wanting_.push_back(letter.from);
    hand_out();
  }

  void hand_out() {
    while (!queue_.empty() && !wanting_.empty()) {
      const int rank = wanting_.front();
      wanting_.pop_front();
      if (!heard_.contains(rank)) continue;
      const std::size_t cell = take();
      owned_[rank].insert(cell);
      mailbox_.post(rank, packed({{"what", "run"},
                                  {"cell", cell},
                                  {"id", cells_[cell]},
                                  {"config", read_file(files_.config(cells_[cell]))}}));
    }
  }

  void look_for_the_lost() {
    for (auto rank = heard_.begin(); rank != heard_.end();) {
      const auto next = std::next(rank);
      if (Clock::now() - rank->second > kSilence) lose(rank->first);
      rank = next;
    }
  }

  void lose(int rank) {
    const std::set<std::size_t> cells = std::move(owned_[rank]);
    owned_.erase(rank);
    heard_.erase(rank);
    lost_ = true;
    mailbox_.give_up(rank);
    for (const std::size_t cell : cells) queue_.push_front(cell);
    events_.lost(rank, cells.size());
    hand_out();
  }

  void say(const Json& json) {
    beat_ = Clock::now();
    for (const auto& [rank, heard] : heard_) mailbox_.post(rank, packed(json));
  }

  const AblationFiles& files_;
  const std::vector<std::string>& cells_;
  const std::size_t at_once_;
  Mailbox& mailbox_;
  const FarmEvents& events_;
  std::deque<std::size_t> queue_;
  std::deque<int> wanting_;
  std::map<int, std::set<std::size_t>> owned_;
  std::map<int, Clock::time_point> heard_;  // of the ranks that are there
  std::size_t ended_ = 0;
  bool lost_ = false;
  Clock::time_point beat_ = Clock::now();
  Jobs jobs_;
};

/// Removed with all that is in it.
struct ScratchFolder {
  fs::path path = fs::temp_directory_path() / fmt::format("heed-farm-{}", getpid());
  ScratchFolder() = default;
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
};

/// The other ranks' side.
class Hand {
 public:
  Hand(Mailbox& mailbox, std::size_t at_once) : mailbox_(mailbox) {
    for (const char* folder : {"configs", "results", "logs", "runs"})
      make_writable_folder(files_.folder / folder);
    for (std::size_t i = 0; i < at_once; ++i) say({{"what", "free"}});
  }

  void run() {
    while (!over_) {
      while (const auto letter = mailbox_.receive()) open(unpacked(letter->text));
      while (const auto job = jobs_.poll()) send_back(job->index, job->failure);
      if (Clock::now() - beat_ > kBeat) say({{"what", "beat"}});
      if (Clock::now() - heard_ > kSilence) {
        mailbox_.give_up(0);
        throw std::runtime_error(fmt::format(
            "rank {}: rank 0 is gone; the same command goes on where it was", mailbox_.rank()));
      }
      std::this_thread::sleep_for(kPause);
    }
  }

 private:
  void open(const Json& json) {
    heard_ = Clock::now();
    if (json.at("what") == "over") {
      over_ = true;
      if (json.at("lost")) mailbox_.give_up(0);
    }
    if (json.at("what") != "run") return;
    const std::string id = json.at("id");
    write_file(files_.config(id), json.at("config").get<std::string>());
    ids_[json.at("cell")] = id;
    jobs_.start(json.at("cell"), cell_job(files_, id));
  }

  void send_back(std::size_t cell, const std::string& failure) {
    const std::string& id = ids_.at(cell);
    say({{"what", "ended"},
         {"cell", cell},
         {"failure", failure},
         {"files", written_files(files_, id)}});
    fs::remove_all(files_.run(id));
    say({{"what", "free"}});
  }

  void say(const Json& json) {
    beat_ = Clock::now();
    mailbox_.post(0, packed(json));
  }

  Mailbox& mailbox_;
  ScratchFolder scratch_;
  AblationFiles files_{scratch_.path};
  std::map<std::size_t, std::string> ids_;
  bool over_ = false;
  Clock::time_point beat_ = Clock::now(), heard_ = Clock::now();
  Jobs jobs_;
};

}  // namespace

void run_cells(const AblationFiles& files, const std::vector<std::string>& cells,
               std::size_t at_once, Mailbox* mailbox, const FarmEvents& events) {
  if (mailbox) return Farmer(files, cells, at_once, *mailbox, events).run();
  std::vector<Job> jobs;
  for (const std::string& cell : cells) jobs.push_back(cell_job(files, cell));
  run_jobs(jobs, at_once, events.ended);
}

void work_for_farm(Mailbox& mailbox, std::size_t at_once) { Hand(mailbox, at_once).run(); }

}  // namespace heed::cli
