#include "interpose/base/kernel_list.h"

#include <linux/netlink.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "report/own_descriptors.h"

namespace rdmacheck {
namespace {

// Of <rdma/rdma_netlink.h>, which older systems have without the later ones. They are the kernel's interface and do not
// change; a unit test compares them with the installed header.
constexpr int kNetlinkRdma = 20;
constexpr uint16_t kNldev = 5 << 10;
constexpr uint16_t kCmdGet = 1;
constexpr uint16_t kAttrDevIndex = 1, kAttrDevName = 2, kAttrLqpn = 21, kAttrPid = 28, kAttrKernName = 29, kAttrLkey = 43,
                   kAttrMrlen = 45, kAttrPdn = 60, kAttrCqn = 61, kAttrMrn = 62, kAttrCtxn = 64, kAttrSrqn = 90;
struct ListOf {
  uint16_t command, table, number;
};
constexpr ListOf kLists[kListedKinds] = {
    {22, 86, kAttrCtxn}, {14, 46, kAttrPdn}, {12, 35, kAttrCqn}, {10, 19, kAttrLqpn}, {13, 40, kAttrMrn}, {23, 88, kAttrSrqn},
};

constexpr size_t kRoom = 64 << 10;       // for one read: the kernel fills 32 KiB at most
constexpr size_t kLargest = 256u << 20;  // of all messages

// ---- reading: system calls only, for it runs in a process of its own

struct Question {
  uint16_t command;
  uint32_t device;  // kNoNumber: none
  // What came back.
  size_t begin = 0, end = 0;
  int error = 0;
};

struct Talk {
  Question* questions;
  size_t count;
  char* bytes = nullptr;
  size_t size = 0, used = 0;
};

bool MakeRoom(Talk* talk) {
  if (talk->size - talk->used >= kRoom) return true;
  const size_t size = talk->size == 0 ? 4 * kRoom : 2 * talk->size;
  if (size > kLargest) return false;
  void* bytes = talk->bytes == nullptr
                    ? mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                    : mremap(talk->bytes, talk->size, size, MREMAP_MAYMOVE);
  if (bytes == MAP_FAILED) return false;
  talk->bytes = static_cast<char*>(bytes);
  talk->size = size;
  return true;
}

int Ask(int fd, Talk* talk, Question* question, uint32_t sequence) {
  struct {
    nlmsghdr head;
    nlattr attribute;
    uint32_t value;
  } request = {};
  request.head.nlmsg_len = question->device == kNoNumber ? sizeof(nlmsghdr) : sizeof(request);
  request.head.nlmsg_type = static_cast<uint16_t>(kNldev + question->command);
  request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.head.nlmsg_seq = sequence;
  request.attribute = {sizeof(nlattr) + sizeof(uint32_t), kAttrDevIndex};
  request.value = question->device;
  sockaddr_nl kernel = {};
  kernel.nl_family = AF_NETLINK;
  if (syscall(SYS_sendto, fd, &request, request.head.nlmsg_len, 0, &kernel, sizeof(kernel)) < 0) return errno;
  question->begin = talk->used;
  for (;;) {
    if (!MakeRoom(talk)) return ENOMEM;
    const long n = syscall(SYS_recvfrom, fd, talk->bytes + talk->used, talk->size - talk->used, MSG_TRUNC, nullptr, nullptr);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (static_cast<size_t>(n) > talk->size - talk->used || n < static_cast<long>(sizeof(nlmsghdr))) return EMSGSIZE;
    const size_t from = talk->used;
    const size_t end = from + static_cast<size_t>(n);
    for (size_t at = from; at + sizeof(nlmsghdr) <= end;) {
      nlmsghdr head;
      memcpy(&head, talk->bytes + at, sizeof(head));
      if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > end - at) return EBADMSG;
      const bool ours = head.nlmsg_seq == sequence;
      if (ours && (head.nlmsg_type == NLMSG_ERROR || head.nlmsg_type == NLMSG_DONE)) {
        int error = 0;
        if (head.nlmsg_len >= sizeof(head) + sizeof(error)) memcpy(&error, talk->bytes + at + sizeof(head), sizeof(error));
        question->end = talk->used = at;
        return error < 0 ? -error : 0;
      }
      at += NLMSG_ALIGN(head.nlmsg_len);
    }
    talk->used = end;
  }
}

int TalkToKernel(void* data) {
  auto* talk = static_cast<Talk*>(data);
  const int fd = static_cast<int>(syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, kNetlinkRdma));
  if (fd < 0) return errno;
  const timeval second = {1, 0};
  syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
  int error = 0;
  for (size_t i = 0; i < talk->count; ++i) {
    Question& question = talk->questions[i];
    question.error = Ask(fd, talk, &question, static_cast<uint32_t>(i + 1));
    // A kernel that does not know a list says so; anything else will not be better for the next.
    if (question.error != 0 && question.error != EINVAL && question.error != EOPNOTSUPP && question.error != ENODEV) {
      error = question.error;
      break;
    }
  }
  syscall(SYS_close, fd);
  return error;
}

// ---- parsing

template <class Visit>
bool ForEachMessage(std::string_view bytes, Visit visit) {
  while (bytes.size() >= sizeof(nlmsghdr)) {
    nlmsghdr head;
    memcpy(&head, bytes.data(), sizeof(head));
    if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > bytes.size()) return false;
    if (!visit(head, bytes.substr(sizeof(head), head.nlmsg_len - sizeof(head)))) return false;
    bytes.remove_prefix(std::min<size_t>(NLMSG_ALIGN(head.nlmsg_len), bytes.size()));
  }
  return bytes.empty();
}

template <class Visit>
bool ForEachAttribute(std::string_view bytes, Visit visit) {
  while (bytes.size() >= sizeof(nlattr)) {
    nlattr head;
    memcpy(&head, bytes.data(), sizeof(head));
    if (head.nla_len < sizeof(head) || head.nla_len > bytes.size()) return false;
    if (!visit(static_cast<uint16_t>(head.nla_type & NLA_TYPE_MASK), bytes.substr(sizeof(head), head.nla_len - sizeof(head)))) {
      return false;
    }
    bytes.remove_prefix(std::min<size_t>(NLA_ALIGN(head.nla_len), bytes.size()));
  }
  return bytes.empty();
}

uint64_t NumberIn(std::string_view bytes) {
  uint64_t number = 0;
  memcpy(&number, bytes.data(), std::min(bytes.size(), sizeof(number)));  // the machine's own byte order
  return number;
}

KernelObject ObjectIn(std::string_view bytes, Listed kind, bool* sound) {
  KernelObject object;
  object.kind = kind;
  *sound = ForEachAttribute(bytes, [&](uint16_t type, std::string_view value) {
    const uint64_t number = NumberIn(value);
    if (type == kLists[static_cast<size_t>(kind)].number) object.number = static_cast<uint32_t>(number);
    if (type == kAttrCtxn) object.context = static_cast<uint32_t>(number);
    if (type == kAttrPdn) object.pd = static_cast<uint32_t>(number);
    if (type == kAttrPid) object.thread = static_cast<int32_t>(number);
    if (type == kAttrKernName) object.of_kernel = true;
    if (type == kAttrLkey) object.lkey = static_cast<uint32_t>(number);
    if (type == kAttrMrlen) object.length = number;
    return true;
  });
  return object;
}

int Converse(Talk* talk) { return WithOwnDescriptors(&TalkToKernel, talk); }

std::string_view AnswerTo(const Talk& talk, const Question& question) {
  return {talk.bytes + question.begin, question.end - question.begin};
}

}  // namespace

bool ParseDevices(std::string_view messages, std::vector<KernelDevice>* devices) {
  return ForEachMessage(messages, [devices](const nlmsghdr& head, std::string_view body) {
    if (head.nlmsg_type != kNldev + kCmdGet) return true;
    KernelDevice device;
    const bool sound = ForEachAttribute(body, [&device](uint16_t type, std::string_view value) {
      if (type == kAttrDevIndex) device.index = static_cast<uint32_t>(NumberIn(value));
      if (type == kAttrDevName) device.name = value.substr(0, value.find('\0'));
      return true;
    });
    if (sound && !device.name.empty()) devices->push_back(std::move(device));
    return sound;
  });
}

bool ParseObjects(std::string_view messages, Listed kind, KernelDevice* device) {
  const ListOf& list = kLists[static_cast<size_t>(kind)];
  return ForEachMessage(messages, [&](const nlmsghdr& head, std::string_view body) {
    if (head.nlmsg_type != kNldev + list.command) return true;
    return ForEachAttribute(body, [&](uint16_t type, std::string_view table) {
      if (type != list.table) return true;
      return ForEachAttribute(table, [&](uint16_t, std::string_view entry) {
        bool sound = false;
        const KernelObject object = ObjectIn(entry, kind, &sound);
        if (sound) device->objects.push_back(object);
        return sound;
      });
    });
  });
}

int ReadKernelList(std::vector<KernelDevice>* devices) {
  const int saved = errno;
  Question first = {kCmdGet, kNoNumber};
  Talk talk = {&first, 1};
  int error = Converse(&talk);
  if (error == 0) error = first.error;
  if (error == 0 && !ParseDevices(AnswerTo(talk, first), devices)) error = EBADMSG;
  std::vector<Question> questions;
  for (const KernelDevice& device : *devices) {
    for (const ListOf& list : kLists) questions.push_back({list.command, device.index});
  }
  if (error == 0 && !questions.empty()) {
    talk.questions = questions.data();
    talk.count = questions.size();
    talk.used = 0;
    error = Converse(&talk);
  }
  for (size_t i = 0; error == 0 && i < questions.size(); ++i) {
    if (questions[i].error != 0) continue;
    KernelDevice& device = (*devices)[i / kListedKinds];
    const auto kind = static_cast<Listed>(i % kListedKinds);
    if (!ParseObjects(AnswerTo(talk, questions[i]), kind, &device)) {
      error = EBADMSG;
    } else {
      device.listed |= 1u << static_cast<unsigned>(kind);
    }
  }
  if (talk.bytes != nullptr) munmap(talk.bytes, talk.size);
  errno = saved;
  return error;
}

}  // namespace rdmacheck
