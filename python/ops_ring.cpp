// torch.distributed's process groups as ours, and the parts of a sequence that their ranks hold.
#include <torch/library.h>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>

#include <mutex>

#include "heed/attention/ring.hpp"
#include "heed/base/error.hpp"
#include "process_group.hpp"

namespace heed {
namespace {

using WorkPtr = c10::intrusive_ptr<c10d::Work>;

/// The backend's threads drive it on by themselves.
class ProcessGroupWork final : public dist::Work {
 public:
  explicit ProcessGroupWork(std::vector<WorkPtr> parts) : parts_(std::move(parts)) {}
  ~ProcessGroupWork() override {
    try {
      ProcessGroupWork::wait();
    } catch (const std::exception&) {  // whoever needed it has heard of it
    }
  }
  ProcessGroupWork(const ProcessGroupWork&) = delete;
  ProcessGroupWork& operator=(const ProcessGroupWork&) = delete;
  bool done() override {
    return std::ranges::all_of(parts_, [](const WorkPtr& part) { return part->isCompleted(); });
  }
  void wait() override {
    for (const WorkPtr& part : std::exchange(parts_, {})) part->wait();
  }

 private:
  std::vector<WorkPtr> parts_;
};

/// Looked up by name at each use: a graph may live longer than the group it was made with.
class ProcessGroup final : public dist::Group {
 public:
  explicit ProcessGroup(std::string name) : name_(std::move(name)) {}
  int rank() const override { return group()->getRank(); }
  int size() const override { return group()->getSize(); }
  std::unique_ptr<dist::Work> sum(std::span<float> values) override { return add(values); }
  std::unique_ptr<dist::Work> sum(std::span<double> values) override { return add(values); }
  std::unique_ptr<dist::Work> sum(std::span<std::int64_t> values) override { return add(values); }

  std::unique_ptr<dist::Work> exchange(std::span<const std::byte> out, int to,
                                       std::span<std::byte> in, int from) override {
    std::vector<WorkPtr> parts;
    std::vector<Tensor> coming = {flat(in)};
    // Sending only reads.
    std::vector<Tensor> going = {flat(std::span(const_cast<std::byte*>(out.data()), out.size()))};
    if (!in.empty()) parts.push_back(group()->recv(coming, from, 0));
    if (!out.empty()) parts.push_back(group()->send(going, to, 0));
    return std::make_unique<ProcessGroupWork>(std::move(parts));
  }

  std::vector<std::string> gather(const std::string& mine) override {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(size()));
    sizes[static_cast<std::size_t>(rank())] = static_cast<std::int64_t>(mine.size());
    sum(sizes)->wait();
    std::vector<std::string> all;
    for (int from = 0; from < size(); ++from) {
      std::string& text = all.emplace_back(from == rank() ? mine : "");
      text.resize(static_cast<std::size_t>(sizes[static_cast<std::size_t>(from)]));
      if (text.empty()) continue;
      std::vector<Tensor> bytes = {flat(std::as_writable_bytes(std::span(text)))};
      c10d::BroadcastOptions options;
      options.rootRank = from;
      group()->broadcast(bytes, options)->wait();
    }
    return all;
  }

 private:
  static Tensor flat(std::span<std::byte> bytes) {
    return torch::from_blob(bytes.data(), static_cast<std::int64_t>(bytes.size()), torch::kUInt8);
  }
  template <class T>
  std::unique_ptr<dist::Work> add(std::span<T> values) {
    std::vector<Tensor> tensors = {torch::from_blob(values.data(),
                                                    static_cast<std::int64_t>(values.size()),
                                                    c10::CppTypeToScalarType<T>::value)};
    return std::make_unique<ProcessGroupWork>(std::vector{group()->allreduce(tensors)});
  }
  c10::intrusive_ptr<c10d::ProcessGroup> group() const {
    return c10d::resolve_process_group(name_);
  }

  std::string name_;
};

Tensor split_op(const Tensor& whole, std::int64_t dim, const std::string& group) {
  return ring_split(whole, dim, process_group(group));
}

Tensor join_op(const Tensor& part, std::int64_t dim, const std::string& group) try {
  return ring_join(part, dim, process_group(group));
} catch (const InputError& error) {
  TORCH_CHECK_VALUE(false, error.what());
}

Tensor positions_op(std::int64_t length, const std::string& group) {
  return ring_positions(length, process_group(group));
}

}  // namespace

dist::Group& process_group(const std::string& name) {
  static std::mutex guard;
  static std::map<std::string, ProcessGroup> known;
  const std::lock_guard lock(guard);
  return known.try_emplace(name, name).first->second;
}

}  // namespace heed

TORCH_LIBRARY_FRAGMENT(heed, library) {
  library.def("ring_split(Tensor whole, int dim, str group) -> Tensor", heed::split_op);
  library.def("ring_join(Tensor part, int dim, str group) -> Tensor", heed::join_op);
  library.def("ring_positions(int length, str group) -> Tensor", heed::positions_op);
}
