/* Preloaded into a process: after EIO_AFTER calls of fsync (EIO_ON=fsync) or of write (EIO_ON=write) on the database
 * EIO_PATH or its log, each further call fails with EIO, as on a failing disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int calls;

static int fails(int fd, const char *kind) {
  const char *on = getenv("EIO_ON"), *path = getenv("EIO_PATH"), *after = getenv("EIO_AFTER");
  char link[64], target[4096];
  if (!on || !path || !after || strcmp(on, kind) != 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, target, sizeof target - 1);
  if (length < 0) return 0;
  target[length] = 0;
  size_t n = strlen(path);
  if (strncmp(target, path, n) != 0 || (target[n] != 0 && strcmp(target + n, "-wal") != 0)) return 0;
  if (++calls <= atoi(after)) return 0;
  errno = EIO;
  return 1;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

int fsync(int fd) {
  REAL(fsync);
  return fails(fd, "fsync") ? -1 : real(fd);
}

int fdatasync(int fd) {
  REAL(fdatasync);
  return fails(fd, "fsync") ? -1 : real(fd);
}

ssize_t write(int fd, const void *bytes, size_t count) {
  REAL(write);
  return fails(fd, "write") ? -1 : real(fd, bytes, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
  REAL(pwrite);
  return fails(fd, "write") ? -1 : real(fd, bytes, count, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
  REAL(pwrite64);
  return fails(fd, "write") ? -1 : real(fd, bytes, count, at);
}
