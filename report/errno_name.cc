#include "report/errno_name.h"

#include <cerrno>

#include "report/cat.h"

namespace rdmacheck {
namespace {

struct Row {
  int value;
  const char* name;
  const char* text;
};

// glibc has strerrorname_np() only since 2.32, and strerror() speaks the program's language. Here stand the values that
// verbs, files and sockets answer.
constexpr Row kRows[] = {
    {EPERM, "EPERM", "Operation not permitted"},
    {ENOENT, "ENOENT", "No such file or directory"},
    {EINTR, "EINTR", "Interrupted system call"},
    {EIO, "EIO", "Input/output error"},
    {ENXIO, "ENXIO", "No such device or address"},
    {EBADF, "EBADF", "Bad file descriptor"},
    {EAGAIN, "EAGAIN", "Resource temporarily unavailable"},
    {ENOMEM, "ENOMEM", "Cannot allocate memory"},
    {EACCES, "EACCES", "Permission denied"},
    {EFAULT, "EFAULT", "Bad address"},
    {EBUSY, "EBUSY", "Device or resource busy"},
    {EEXIST, "EEXIST", "File exists"},
    {EXDEV, "EXDEV", "Invalid cross-device link"},
    {ENODEV, "ENODEV", "No such device"},
    {ENOTDIR, "ENOTDIR", "Not a directory"},
    {EISDIR, "EISDIR", "Is a directory"},
    {EINVAL, "EINVAL", "Invalid argument"},
    {ENFILE, "ENFILE", "Too many open files in system"},
    {EMFILE, "EMFILE", "Too many open files"},
    {ENOTTY, "ENOTTY", "Inappropriate ioctl for device"},
    {ETXTBSY, "ETXTBSY", "Text file busy"},
    {EFBIG, "EFBIG", "File too large"},
    {ENOSPC, "ENOSPC", "No space left on device"},
    {EROFS, "EROFS", "Read-only file system"},
    {EPIPE, "EPIPE", "Broken pipe"},
    {ERANGE, "ERANGE", "Numerical result out of range"},
    {EDEADLK, "EDEADLK", "Resource deadlock avoided"},
    {ENAMETOOLONG, "ENAMETOOLONG", "File name too long"},
    {ENOSYS, "ENOSYS", "Function not implemented"},
    {ELOOP, "ELOOP", "Too many levels of symbolic links"},
    {ENODATA, "ENODATA", "No data available"},
    {EPROTO, "EPROTO", "Protocol error"},
    {EOVERFLOW, "EOVERFLOW", "Value too large for defined data type"},
    {EMSGSIZE, "EMSGSIZE", "Message too long"},
    {EPROTONOSUPPORT, "EPROTONOSUPPORT", "Protocol not supported"},
    {EOPNOTSUPP, "EOPNOTSUPP", "Operation not supported"},
    {EADDRINUSE, "EADDRINUSE", "Address already in use"},
    {EADDRNOTAVAIL, "EADDRNOTAVAIL", "Cannot assign requested address"},
    {ENETDOWN, "ENETDOWN", "Network is down"},
    {ENETUNREACH, "ENETUNREACH", "Network is unreachable"},
    {ECONNABORTED, "ECONNABORTED", "Software caused connection abort"},
    {ECONNRESET, "ECONNRESET", "Connection reset by peer"},
    {ENOBUFS, "ENOBUFS", "No buffer space available"},
    {EISCONN, "EISCONN", "Transport endpoint is already connected"},
    {ENOTCONN, "ENOTCONN", "Transport endpoint is not connected"},
    {ETIMEDOUT, "ETIMEDOUT", "Connection timed out"},
    {ECONNREFUSED, "ECONNREFUSED", "Connection refused"},
    {EHOSTUNREACH, "EHOSTUNREACH", "No route to host"},
    {EALREADY, "EALREADY", "Operation already in progress"},
    {EINPROGRESS, "EINPROGRESS", "Operation now in progress"},
    {EDQUOT, "EDQUOT", "Disk quota exceeded"},
    {ECANCELED, "ECANCELED", "Operation canceled"},
};

const Row* RowOf(int value) {
  const int positive = value < 0 ? -value : value;
  for (const Row& row : kRows) {
    if (row.value == positive) return &row;
  }
  return nullptr;
}

}  // namespace

std::string ErrnoName(int value) {
  const Row* row = RowOf(value);
  return row != nullptr ? row->name : Cat("errno ", value);
}

std::string ErrnoText(int value) {
  const Row* row = RowOf(value);
  return row != nullptr ? row->text : Cat("errno ", value);
}

}  // namespace rdmacheck
