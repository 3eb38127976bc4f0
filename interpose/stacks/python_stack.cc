#include "interpose/stacks/python_stack.h"

#include <errno.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "interpose/libraries/loaded_object.h"
#include "interpose/libraries/python.h"
#include "interpose/stacks/unwind.h"

namespace rdmacheck {
namespace {

constexpr size_t kBuckets = 1u << 12;
constexpr ssize_t kLongestName = 1024;

struct Text {
  Text* next = nullptr;
  uint64_t hash = 0;
  size_t size = 0;
  char* bytes = nullptr;
};
std::atomic<Text*> texts[kBuckets];
std::atomic<PythonStack*> stacks[kBuckets];

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0xD6E8FEB86659FD93u;
  return hash ^ (hash >> 29);
}

template <class Node, class Equal>
Node* FindFrom(Node* node, const Equal& equal) {
  while (node != nullptr && !equal(*node)) node = node->next;
  return node;
}

// One node for equal ones; `make` may return null.
template <class Node, class Equal, class Make>
Node* Intern(std::atomic<Node*>* table, uint64_t hash, const Equal& equal, const Make& make) {
  std::atomic<Node*>& bucket = table[(hash ^ (hash >> 32)) % kBuckets];
  Node* head = bucket.load(std::memory_order_acquire);
  if (Node* known = FindFrom(head, equal)) return known;
  Node* const node = make();
  if (node == nullptr) return nullptr;
  node->hash = hash;
  do {
    // What was pushed meanwhile may be equal; ours then stays unused.
    if (Node* known = FindFrom(head, equal)) return known;
    node->next = head;
  } while (!bucket.compare_exchange_weak(head, node, std::memory_order_acq_rel));
  return node;
}

const char* InternText(const char* bytes, size_t size) {
  uint64_t hash = size;
  for (size_t i = 0; i < size; i += 8) {
    uint64_t word = 0;
    memcpy(&word, bytes + i, std::min<size_t>(8, size - i));
    hash = Mix(hash, word);
  }
  const auto equal = [&](const Text& text) {
    return text.hash == hash && text.size == size && memcmp(text.bytes, bytes, size) == 0;
  };
  const auto make = [&]() -> Text* {
    auto* text = new (std::nothrow) Text;
    if (text == nullptr || (text->bytes = new (std::nothrow) char[size + 1]) == nullptr) return nullptr;
    memcpy(text->bytes, bytes, size);
    text->bytes[size] = '\0';
    text->size = size;
    return text;
  };
  const Text* const text = Intern(texts, hash, equal, make);
  return text == nullptr ? "" : text->bytes;
}

const PythonStack* InternStack(const PythonFrame* frames, size_t depth) {
  uint64_t hash = depth;
  for (size_t i = 0; i < depth; ++i) {
    hash = Mix(hash, reinterpret_cast<uintptr_t>(frames[i].function));
    hash = Mix(hash, reinterpret_cast<uintptr_t>(frames[i].file) ^ static_cast<uint64_t>(frames[i].line));
  }
  const auto same = [](const PythonFrame& a, const PythonFrame& b) {
    return a.function == b.function && a.file == b.file && a.line == b.line;
  };
  const auto equal = [&](const PythonStack& stack) {
    return stack.hash == hash && stack.depth == depth && std::equal(frames, frames + depth, stack.frames, same);
  };
  const auto make = [&]() -> PythonStack* {
    auto* stack = new (std::nothrow) PythonStack;
    if (stack == nullptr || (stack->frames = new (std::nothrow) PythonFrame[depth]) == nullptr) return nullptr;
    std::copy(frames, frames + depth, stack->frames);
    stack->depth = depth;
    return stack;
  };
  return Intern(stacks, hash, equal, make);
}

char* PutUtf8(uint32_t c, char* to) {
  if (c < 0x80) {
    *to++ = static_cast<char>(c);
    return to;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr unsigned char kFirst[] = {0, 0xC0, 0xE0, 0xF0};
  *to++ = static_cast<char>(kFirst[more] | (c >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) *to++ = static_cast<char>(0x80 | ((c >> (6 * i)) & 0x3F));
  return to;
}

// A str's characters are copied out as they are: that allocates nothing and cannot raise, where encoding may do both. A byte
// of a file's name that is no UTF-8 stands there as a lone surrogate, and becomes "?".
const char* TextOf(const Python& python, PythonObject* string) {
  const ssize_t size = string == nullptr ? 0 : python.PyUnicode_GetLength(string);
  if (size <= 0 || size > kLongestName) return "";
  uint32_t characters[kLongestName];
  if (python.PyUnicode_AsUCS4(string, characters, size, 0) == nullptr) return "";
  char utf8[4 * kLongestName];
  char* end = utf8;
  uint32_t bits = 0, zeros = 0;
  for (ssize_t i = 0; i < size; ++i) {
    bits |= characters[i];
    zeros |= static_cast<uint32_t>(characters[i] == 0);
    utf8[i] = static_cast<char>(characters[i]);
  }
  if (bits < 0x80 && zeros == 0) return InternText(utf8, static_cast<size_t>(size));
  for (ssize_t i = 0; i < size; ++i) {
    const uint32_t c = characters[i];
    end = PutUtf8(c == 0 || (c >= 0xD800 && c < 0xE000) ? '?' : c, end);
  }
  return InternText(utf8, static_cast<size_t>(end - utf8));
}

// The names of the two attributes, as interned strings of the main interpreter: attributes are found faster by them.
struct Names {
  PythonObject* function = nullptr;
  PythonObject* file = nullptr;
};
std::atomic<const Names*> names{nullptr};
std::atomic<bool> names_tried{false};

// The interpreter has ended: its strings are not used again, if another one is started.
void ForgetNames() { names.store(nullptr); }

const char* FunctionAttribute(const Python& python) { return python.minor >= 11 ? "co_qualname" : "co_name"; }

const Names* NamesOf(const Python& python, PythonThread* thread) {
  if (python.PyInterpreterState_GetID(python.PyThreadState_GetInterpreter(thread)) != 0) return nullptr;
  const Names* known = names.load(std::memory_order_acquire);
  if (known != nullptr || names_tried.exchange(true)) return known;
  auto* fresh = new (std::nothrow) Names;
  if (fresh == nullptr || python.Py_AtExit(&ForgetNames) != 0) return nullptr;
  fresh->function = python.PyUnicode_InternFromString(FunctionAttribute(python));
  fresh->file = python.PyUnicode_InternFromString("co_filename");
  if (fresh->function == nullptr || fresh->file == nullptr) return nullptr;
  names.store(fresh, std::memory_order_release);
  return fresh;
}

// For as long as this lives: no collection by what is allocated (3.11 makes frame objects, and collects then), and an
// exception that the program is about to handle is put aside.
class Undisturbed {
 public:
  explicit Undisturbed(const Python& python) : python_(python), collects_(python.minor == 11 && python.PyGC_Disable() != 0) {
    pending_ = python_.PyErr_Occurred() != nullptr;
    if (!pending_) return;
    if (python_.PyErr_GetRaisedException != nullptr && python_.PyErr_SetRaisedException != nullptr) {
      value_ = python_.PyErr_GetRaisedException();
    } else {
      python_.PyErr_Fetch(&type_, &value_, &traceback_);
    }
  }
  ~Undisturbed() {
    if (pending_ && type_ == nullptr) {
      python_.PyErr_SetRaisedException(value_);
    } else if (pending_) {
      python_.PyErr_Restore(type_, value_, traceback_);
    } else if (python_.PyErr_Occurred() != nullptr) {
      python_.PyErr_Clear();  // memory was out
    }
    if (collects_) python_.PyGC_Enable();
    errno = errno_;
  }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  const Python& python_;
  const int errno_ = errno;
  const bool collects_;
  bool pending_ = false;
  PythonObject *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
};

// Its state, if the calling thread holds the GIL. PyGILState_Check() says yes to everybody once there was a sub-interpreter.
PythonThread* ThreadThatHoldsGil(const Python& python) {
  if (python.Py_IsInitialized() == 0 || python.IsFinalizing() != 0) return nullptr;
  PythonThread* const current = python.CurrentThread();
  // Until 3.11 this is the state of whichever thread holds it; later each thread has its own.
  return current == nullptr || python.minor >= 12 || current == python.PyGILState_GetThisThreadState() ? current : nullptr;
}

// Where a signal handler returns to. An address that lies in no file may be no address at all, where frame pointers led to it.
bool IsSignalReturn(const void* pc) {
#if defined(__x86_64__)
  constexpr unsigned char kCode[] = {0x48, 0xC7, 0xC0, 0x0F, 0x00, 0x00, 0x00, 0x0F, 0x05};  // mov $15, %rax; syscall
#elif defined(__aarch64__)
  constexpr unsigned char kCode[] = {0x68, 0x11, 0x80, 0xD2, 0x01, 0x00, 0x00, 0xD4};  // mov x8, #139; svc #0
#endif
  const auto nothing = [](dl_phdr_info*, size_t, void*) { return 1; };
  if (VisitLoadedObject(reinterpret_cast<uintptr_t>(pc), nothing, nullptr) == 0) return false;
  const auto* at = static_cast<const volatile unsigned char*>(pc);
  for (size_t i = 0; i < sizeof(kCode); ++i) {
    if (at[i] != kCode[i]) return false;
  }
  return true;
}

}  // namespace

CalledBy CallerOf(void* const* pcs, size_t depth) {
  const Python* const python = ThePython();
  if (python == nullptr) return CalledBy::kUnknown;
  static const CodeRange fork = RangeInLibc("fork");
  for (size_t i = 0; i < depth; ++i) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(pcs[i]);
    if (python->eval.Holds(at)) return CalledBy::kPython;
    if (fork.Holds(at) || IsSignalReturn(pcs[i])) return CalledBy::kHandler;
  }
  return CalledBy::kUnknown;
}

const PythonStack* TakePythonStack(size_t depth) {
  const Python& python = *ThePython();
  PythonThread* const thread = ThreadThatHoldsGil(python);
  if (thread == nullptr) return nullptr;
  PythonFrame frames[kMaxFrames];
  size_t n = 0;
  {
    const Undisturbed undisturbed(python);
    const Names* const attributes = NamesOf(python, thread);
    PythonObject* frame = python.PyThreadState_GetFrame(thread);
    while (frame != nullptr) {
      PythonObject* const code = python.PyFrame_GetCode(frame);
      PythonObject* const function = attributes != nullptr
                                         ? python.PyObject_GetAttr(code, attributes->function)
                                         : python.PyObject_GetAttrString(code, FunctionAttribute(python));
      PythonObject* const file = attributes != nullptr ? python.PyObject_GetAttr(code, attributes->file)
                                                       : python.PyObject_GetAttrString(code, "co_filename");
      frames[n].function = TextOf(python, function);
      frames[n].file = TextOf(python, file);
      frames[n].line = python.PyFrame_GetLineNumber(frame);
      ++n;
      PythonObject* const back = n < std::min(depth, kMaxFrames) ? python.PyFrame_GetBack(frame) : nullptr;
      // Each is held by who holds it anyway: nothing dies here.
      for (PythonObject* object : {function, file, code, frame}) python.Py_DecRef(object);
      frame = back;
    }
  }
  return n == 0 ? nullptr : InternStack(frames, n);
}

}  // namespace rdmacheck
