// What the kernel says of RDMA objects: the lists that `rdma resource show` prints, by RDMA netlink.
//
// Reading it takes a netlink socket for the moment, in a process of our own that has its own descriptors (own_descriptors.h):
// nothing of the program's is used, and a program that is out of descriptors can be looked at too. It never waits longer
// than a second for the kernel. errno stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmacheck {

// The kinds that the kernel lists and that are the same thing here. rdma_cm ids are left out: those of connection requests are
// there before the program hears of them.
enum class Listed : uint8_t { kContext, kPd, kCq, kQp, kMr, kSrq };
inline constexpr size_t kListedKinds = 6;

inline constexpr uint32_t kNoNumber = ~uint32_t{0};

struct KernelObject {
  Listed kind{};
  uint32_t number = kNoNumber;   // a QP's number, else the kernel's own
  uint32_t context = kNoNumber;  // ctxn, where the kernel says so
  uint32_t pd = kNoNumber;       // pdn
  int32_t thread = 0;            // that made it; 0: it has exited
  bool of_kernel = false;        // made by the kernel for itself
  uint32_t lkey = 0;             // of an MR; 0: the kernel tells it to CAP_NET_ADMIN only
  uint64_t length = 0;           // of an MR
};

struct KernelDevice {
  uint32_t index = 0;
  std::string name;
  uint32_t listed = 0;  // bit 1 << Listed: the kernel has this list
  std::vector<KernelObject> objects;
};

// 0 or an errno value: EPROTONOSUPPORT where the kernel has no RDMA, EPERM or EACCES where it may not be asked.
int ReadKernelList(std::vector<KernelDevice>* devices);

// The netlink messages of one answer. False: they are not as they should be; what stood before the fault is taken.
bool ParseDevices(std::string_view messages, std::vector<KernelDevice>* devices);
bool ParseObjects(std::string_view messages, Listed kind, KernelDevice* device);

}  // namespace rdmacheck
