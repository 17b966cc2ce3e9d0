/* Escape attempts with raw system calls, which a shell cannot make. Compiled by the tests and run in the sandbox.
 *
 *   attacker NAME [ARGUMENT...]     makes one attempt: "done" and 0, or "refused ERRNO" and 1
 *   attacker contained PROGRAM...   runs a program under the seccomp filter of a container: no new namespaces
 *   attacker mapped PROGRAM...      runs a program as root of a container with mapped users (user namespace)
 *   attacker burdened FILE PROGRAM...   runs a program with inherited descriptors and odd signals
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <linux/vm_sockets.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (1L << 20)
#define LENGTH(list) (sizeof(list) / sizeof((list)[0]))

static char **given;
static const char *text(int index) { return given[index] ? given[index] : ""; }
static long number(int index) { return atol(text(index)); }
static long refuse(int error) {
  errno = error;
  return -1;
}

/* Mounts, roots, namespaces. */
static long try_mount(void) { return syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, ""); }
static long try_remount(void) { return syscall(SYS_mount, "none", "/", "", MS_REMOUNT | MS_BIND, ""); }
static long try_bind(void) { return syscall(SYS_mount, "/", "/tmp", "", MS_BIND | MS_REC, ""); }
static long try_umount(void) { return syscall(SYS_umount2, "/proc", MNT_DETACH); }
static long try_open_tree(void) { return syscall(428, AT_FDCWD, "/", 1 | O_CLOEXEC); }
static long try_move_mount(void) { return syscall(429, AT_FDCWD, "/", AT_FDCWD, "/tmp", 0); }
static long try_fsopen(void) { return syscall(430, "tmpfs", 0); }
static long try_fsmount(void) { return syscall(432, 0, 0, 0); }
static long try_fspick(void) { return syscall(433, AT_FDCWD, "/", 0); }
static long try_mount_setattr(void) {
  uint64_t attributes[4] = {0, 1, 0, 0};
  return syscall(442, AT_FDCWD, "/", 0x8000, attributes, sizeof attributes);
}
static long try_pivot_root(void) { return syscall(SYS_pivot_root, ".", "."); }
static long try_chroot(void) { return syscall(SYS_chroot, "."); }
static long try_unshare(void) { return syscall(SYS_unshare, (long)number(0)); }
static long try_clone(void) {
  long pid = syscall(SYS_clone, number(0) | SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) _exit(0);
  return pid;
}
static long try_clone3(void) {
  uint64_t arguments[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
  long pid = syscall(435, arguments, sizeof arguments);
  if (pid == 0) _exit(0);
  return pid;
}
static long try_setns(void) {
  int space = open("/proc/self/ns/user", O_RDONLY);
  return syscall(SYS_setns, space < 0 ? 0 : space, 0);
}
static long try_setns_pidfd(void) {
  long process = syscall(434, (long)getpid(), 0);
  return syscall(SYS_setns, process, CLONE_NEWUSER | CLONE_NEWNS);
}

/* Identity. */
static long try_setuid(void) { return syscall(SYS_setuid, 0L); }
static long try_setgid(void) { return syscall(SYS_setgid, 0L); }
static long try_setresuid(void) { return syscall(SYS_setresuid, 0L, 0L, 0L); }
static long try_setfsuid(void) {
  syscall(SYS_setfsuid, 0L);
  return syscall(SYS_setfsuid, -1L) == 0 ? 0 : refuse(EPERM);
}
static long try_setgroups(void) {
  gid_t none = 0;
  return syscall(SYS_setgroups, 1L, &none);
}
static long try_capset(void) {
  struct { uint32_t version; int pid; } header = {0x20080522, 0};
  uint32_t all[6] = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u};
  return syscall(SYS_capset, &header, all);
}
static long try_ambient(void) { return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0); }
static long try_seccomp_off(void) { return prctl(PR_SET_SECCOMP, 0, 0, 0, 0); }
static long try_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0); }
static long identity(void) {
  uid_t real, effective, saved;
  gid_t group[3];
  getresuid(&real, &effective, &saved);
  getresgid(&group[0], &group[1], &group[2]);
  printf("uids %u %u %u\ngids %u %u %u\n", real, effective, saved, group[0], group[1], group[2]);
  struct { uint32_t version; int pid; } header = {0x20080522, 0};
  uint32_t sets[6];
  syscall(SYS_capget, &header, sets);
  printf("capabilities %x %x %x %x %x %x\n", sets[0], sets[1], sets[2], sets[3], sets[4], sets[5]);
  printf("no_new_privs %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  printf("seccomp %d\n", prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
  struct rlimit core;
  getrlimit(RLIMIT_CORE, &core);
  printf("core %lu %lu\n", (unsigned long)core.rlim_cur, (unsigned long)core.rlim_max);
  for (int descriptor = 0; descriptor < 4096; descriptor++)
    if (fcntl(descriptor, F_GETFD) >= 0) printf("descriptor %d\n", descriptor);
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, NULL, &blocked);
  for (int signal = 1; signal < 65; signal++) {
    struct sigaction action;
    if (sigaction(signal, NULL, &action) == 0 && action.sa_handler != SIG_DFL) printf("signal %d not default\n", signal);
    if (sigismember(&blocked, signal) == 1) printf("signal %d blocked\n", signal);
  }
  printf("umask %o\n", umask(022));
  printf("terminal %d\n", open("/dev/tty", O_RDWR) >= 0);
  printf("session %d\n", getsid(0) == getpgrp());
  return 0;
}

/* Other processes. */
static long try_kill(void) { return kill((pid_t)number(0), (int)number(1)); }
static long try_tgkill(void) { return syscall(SYS_tgkill, number(0), number(0), number(1)); }
static long try_sigqueue(void) {
  union sigval value = {0};
  return sigqueue((pid_t)number(0), (int)number(1), value);
}
static long try_pidfd_kill(void) {
  long process = syscall(434, number(0), 0);
  return process < 0 ? process : syscall(424, process, number(1), NULL, 0);
}
static long try_owner_signal(void) { /* F_SETOWN: the kernel signals the owner of a descriptor */
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return -1;
  if (fcntl(ends[0], F_SETOWN, (int)number(0))) return -1;
  fcntl(ends[0], F_SETSIG, SIGKILL);
  fcntl(ends[0], F_SETFL, O_ASYNC);
  (void)!write(ends[1], "x", 1);
  usleep(50000);
  return kill((pid_t)number(0), 0) ? -1 : refuse(EPERM);
}
static long try_ptrace(void) { return ptrace(PTRACE_ATTACH, (pid_t)number(0), 0, 0); }
static long try_seize(void) { return ptrace(PTRACE_SEIZE, (pid_t)number(0), 0, 0); }
static long with_sibling(long (*attempt)(pid_t)) {
  pid_t sibling = fork();
  if (sibling == 0) {
    pause();
    _exit(0);
  }
  long result = attempt(sibling);
  int error = errno;
  kill(sibling, SIGKILL);
  waitpid(sibling, NULL, 0);
  errno = error;
  return result;
}
static long attach(pid_t pid) { return ptrace(PTRACE_ATTACH, pid, 0, 0); }
static long try_ptrace_sibling(void) { return with_sibling(attach); }
static long try_trace_me(void) { return ptrace(PTRACE_TRACEME, 0, 0, 0); }
static char held[16];
static long read_memory(pid_t pid) {
  struct iovec here = {held, sizeof held}, there = {(void *)held, sizeof held};
  return syscall(SYS_process_vm_readv, pid, &here, 1, &there, 1, 0);
}
static long write_memory(pid_t pid) {
  struct iovec here = {held, sizeof held}, there = {(void *)held, sizeof held};
  return syscall(SYS_process_vm_writev, pid, &here, 1, &there, 1, 0);
}
static long try_read_memory(void) { return number(0) ? read_memory((pid_t)number(0)) : with_sibling(read_memory); }
static long try_write_memory(void) { return number(0) ? write_memory((pid_t)number(0)) : with_sibling(write_memory); }
static long steal(pid_t pid) {
  long process = syscall(434, pid, 0);
  return process < 0 ? process : syscall(438, process, 1, 0);
}
static long try_steal(void) { return number(0) ? steal((pid_t)number(0)) : with_sibling(steal); }
static long try_kcmp(void) { return syscall(SYS_kcmp, (long)getpid(), number(0), 0, 1, 1); }
static long try_prlimit(void) {
  struct rlimit64 { uint64_t now, most; } none = {0, 0};
  return syscall(SYS_prlimit64, number(0), RLIMIT_NOFILE, &none, NULL);
}
static long try_look_at_limits(void) {
  uint64_t found[2];
  return syscall(SYS_prlimit64, number(0), RLIMIT_NOFILE, NULL, found);
}
static long try_renice(void) { return syscall(SYS_setpriority, PRIO_PROCESS, number(0), 19); }
static long try_idle(void) {
  struct sched_param none = {0};
  return syscall(SYS_sched_setscheduler, number(0), SCHED_IDLE, &none);
}
static long try_affinity(void) {
  unsigned long first = 1;
  return syscall(SYS_sched_setaffinity, number(0), sizeof first, &first);
}
static long try_ioprio(void) { return syscall(SYS_ioprio_set, 1, number(0), 3 << 13); }
static long try_process_madvise(void) {
  struct iovec there = {held, 4096};
  return syscall(440, syscall(434, number(0), 0), &there, 1, MADV_COLD, 0);
}
static long try_migrate_pages(void) {
  unsigned long node = 1;
  return syscall(SYS_migrate_pages, number(0), 2, &node, &node);
}

/* The kernel itself. */
static long try_io_uring(void) {
  char parameters[120] = {0};
  return syscall(425, 4, parameters);
}
static long try_keyctl(void) { return syscall(SYS_keyctl, 0, -3, 1); }
static long try_add_key(void) { return syscall(SYS_add_key, "user", "polis", "x", 1, -3); }
static long try_request_key(void) { return syscall(SYS_request_key, "user", "polis", NULL, -3); }
static long try_bpf(void) {
  uint32_t map[18] = {2, 4, 4, 1};
  return syscall(SYS_bpf, 0, map, sizeof map);
}
static long try_userfaultfd(void) { return syscall(SYS_userfaultfd, 1 | O_CLOEXEC); }
static long try_perf(void) {
  char attributes[128] = {0};
  attributes[4] = (char)sizeof attributes;
  return syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0);
}
static long try_kexec(void) { return syscall(SYS_kexec_load, 0L, 0L, NULL, 0L); }
static long try_kexec_file(void) { return syscall(320, 0, 0, 0L, "", 0L); }
static long try_init_module(void) { return syscall(SYS_init_module, "", 0L, ""); }
static long try_finit_module(void) { return syscall(SYS_finit_module, 0, "", 0); }
static long try_delete_module(void) { return syscall(SYS_delete_module, "polis", 0); }
static long try_swapon(void) { return syscall(SYS_swapon, "/nothing", 0); }
static long try_reboot(void) { return syscall(SYS_reboot, 0xfee1dead, 672274793, 0x89ABCDEF, 0); }
static long try_settimeofday(void) {
  struct timeval now;
  gettimeofday(&now, NULL);
  return syscall(SYS_settimeofday, &now, NULL);
}
static long try_clock_settime(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return syscall(SYS_clock_settime, CLOCK_REALTIME, &now);
}
static long try_adjtimex(void) {
  long parameters[32] = {1};
  return syscall(SYS_adjtimex, parameters);
}
static long try_sethostname(void) { return syscall(SYS_sethostname, "owned", 5L); }
static long try_setdomainname(void) { return syscall(SYS_setdomainname, "owned", 5L); }
static long try_quotactl(void) { return syscall(SYS_quotactl, 0x800007 << 8, "/dev/vda", 0, NULL); }
static long try_syslog(void) {
  char log[1024];
  return syscall(SYS_syslog, 3, log, sizeof log);
}
static long try_acct(void) { return syscall(SYS_acct, NULL); }
static long try_fanotify(void) { return syscall(SYS_fanotify_init, 0, O_RDONLY); }
static long try_personality(void) { return syscall(SYS_personality, 0x0400000L); /* READ_IMPLIES_EXEC */ }
static long try_handle(void) {
  struct { unsigned bytes; int type; unsigned char data[128]; } handle = {128, 0, {0}};
  int mount;
  if (syscall(SYS_name_to_handle_at, AT_FDCWD, ".", &handle, &mount, 0)) handle.bytes = 8;
  int here = open(".", O_RDONLY);
  return syscall(SYS_open_by_handle_at, here, &handle, O_RDONLY);
}
static long try_type(void) { return ioctl(0, TIOCSTI, "x"); }
static long try_type_upper(void) { return syscall(SYS_ioctl, 0L, 0x100005412L, "x"); }
static long try_newest(void) { return syscall(number(0), 0, 0, 0, 0, 0, 0); }
#ifdef __x86_64__
static long try_iopl(void) { return syscall(SYS_iopl, 3); }
static long try_ioperm(void) { return syscall(SYS_ioperm, 0x80, 1, 1); }
static long try_modify_ldt(void) {
  char entry[16] = {0};
  return syscall(SYS_modify_ldt, 1, entry, sizeof entry);
}
static long try_old_call(void) { /* int 0x80: 20 is getpid there */
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory");
  return result;
}
static long try_x32(void) { return syscall(0x40000000L + 39); }
#endif

/* Files. */
static long try_chmod(void) { return syscall(SYS_fchmodat, AT_FDCWD, "victim", number(0)); }
static long try_fchmod(void) {
  int file = open("victim", O_RDWR);
  return syscall(SYS_fchmod, file, number(0));
}
static long try_fchmodat2(void) { return syscall(452, AT_FDCWD, "victim", number(0), 0); }
static long try_create_mode(void) {
  return syscall(SYS_openat, AT_FDCWD, "made-with-mode", O_CREAT | O_WRONLY, number(0));
}
static long try_openat2_mode(void) {
  uint64_t how[3] = {O_CREAT | O_WRONLY, (uint64_t)number(0), 0};
  return syscall(437, AT_FDCWD, "made-with-openat2", how, sizeof how);
}
static long try_tmpfile_mode(void) {
  long file = syscall(SYS_openat, AT_FDCWD, ".", O_TMPFILE | O_RDWR, number(0));
  if (file < 0) return -1;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%ld", file);
  return linkat(AT_FDCWD, path, AT_FDCWD, "made-with-tmpfile", AT_SYMLINK_FOLLOW);
}
static long try_mkdir_mode(void) { return syscall(SYS_mkdirat, AT_FDCWD, "made-directory", number(0)); }
static long try_mknod_mode(void) { return syscall(SYS_mknodat, AT_FDCWD, "made-node", S_IFREG | number(0), 0); }
static long try_mknod_device(void) { return syscall(SYS_mknodat, AT_FDCWD, "made-device", number(0) | 0666, number(1)); }
#ifdef __x86_64__
static long try_old_chmod(void) { return syscall(SYS_chmod, "victim", number(0)); }
static long try_old_create(void) { return syscall(SYS_creat, "made-with-creat", number(0)); }
static long try_old_open(void) { return syscall(SYS_open, "made-with-open", O_CREAT | O_WRONLY, number(0)); }
static long try_old_mkdir(void) { return syscall(SYS_mkdir, "made-old-directory", number(0)); }
static long try_old_mknod(void) { return syscall(SYS_mknod, "made-old-node", S_IFREG | number(0), 0); }
#endif
static long try_read(void) {
  int file = open(text(0), O_RDONLY);
  if (file < 0) return -1;
  char bytes[256];
  long count = read(file, bytes, sizeof bytes);
  if (count > 0) fwrite(bytes, 1, (size_t)count, stdout);
  return count;
}
static long try_write(void) {
  int file = open(text(0), O_WRONLY);
  return file < 0 ? -1 : write(file, "owned", 5);
}
static long try_truncate(void) { return truncate(text(0), 0); }
static long try_link(void) { return linkat(AT_FDCWD, text(0), AT_FDCWD, text(1), 0); }
static long try_rename(void) { return rename(text(0), text(1)); }
static long try_exchange(void) { return syscall(SYS_renameat2, AT_FDCWD, text(0), AT_FDCWD, text(1), 2); }
static long try_connect_path(int kind, int made_by_pair) {
  int ends[2];
  if (made_by_pair) {
    if (socketpair(AF_UNIX, kind, 0, ends)) return -1;
  } else if ((ends[0] = socket(AF_UNIX, kind, 0)) < 0)
    return -1;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, text(0), sizeof address.sun_path - 1);
  if (connect(ends[0], (void *)&address, sizeof address)) return -1;
  return send(ends[0], "owned", 5, 0);
}
static long try_socket_path(void) { return try_connect_path(SOCK_STREAM, 0); }
static long try_datagram_path(void) { return try_connect_path(SOCK_DGRAM, 0); }
static long try_pair_path(void) { return try_connect_path(SOCK_DGRAM, 1); }
static long try_raw_pair_path(void) { return try_connect_path(SOCK_RAW, 1); }
static long abstract(int kind, int made_by_pair) {
  int ends[2];
  if (made_by_pair) {
    if (socketpair(AF_UNIX, kind, 0, ends)) return -1;
  } else if ((ends[0] = socket(AF_UNIX, kind, 0)) < 0)
    return -1;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path + 1, text(0), sizeof address.sun_path - 2);
  socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(text(0)));
  if (connect(ends[0], (void *)&address, length)) return -1;
  return send(ends[0], "owned", 5, 0);
}
static long try_abstract(void) { return abstract(SOCK_STREAM, 0); }
static long try_abstract_datagram(void) { return abstract(SOCK_DGRAM, 0); }
static long try_abstract_pair(void) { return abstract(SOCK_DGRAM, 1); }

/* Networks. */
static long internet(int kind, int protocol, int flags, int port) {
  int end = socket(AF_INET, kind, protocol);
  if (end < 0) return -1;
  struct timeval patience = {2, 0};
  setsockopt(end, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (flags) return sendto(end, "owned", 5, flags, (void *)&address, sizeof address);
  if (connect(end, (void *)&address, sizeof address)) return -1;
  return send(end, "owned", 5, 0);
}
static long try_tcp(void) { return internet(SOCK_STREAM, 0, 0, (int)number(0)); }
static long try_udp(void) { return internet(SOCK_DGRAM, 0, 0, (int)number(0)); }
static long try_mptcp(void) { return internet(SOCK_STREAM, 262, 0, (int)number(0)); }
static long try_fastopen(void) { return internet(SOCK_STREAM, 0, MSG_FASTOPEN, (int)number(0)); }
static long try_raw(void) { return socket(AF_INET, SOCK_RAW, 1); }
static long try_packet(void) { return socket(AF_PACKET, SOCK_RAW, htons(3)); }
static long try_vsock(void) {
  int end = socket(AF_VSOCK, SOCK_STREAM, 0);
  if (end < 0) return -1;
  struct sockaddr_vm host = {.svm_family = AF_VSOCK, .svm_port = 1, .svm_cid = VMADDR_CID_HOST};
  return connect(end, (void *)&host, sizeof host);
}
static long try_family(void) { return socket((int)number(0), SOCK_DGRAM, 0); }
static long try_netlink(void) { return socket(AF_NETLINK, SOCK_RAW, (int)number(0)); }
static long try_bind_port(void) {
  int end = socket(AF_INET, SOCK_STREAM, 0);
  if (end < 0) return -1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (bind(end, (void *)&address, sizeof address)) return -1;
  return listen(end, 1);
}
static long own_loopback(void) {
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  if (bind(listener, (void *)&address, length) || listen(listener, 1)) return -1;
  getsockname(listener, (void *)&address, &length);
  return internet(SOCK_STREAM, 0, 0, ntohs(address.sin_port));
}

/* System V IPC: shared by all processes of a user. */
static long try_shmget(void) { return shmget((key_t)number(0), 0, 0); }
static long try_shmat(void) { return shmat((int)number(0), NULL, SHM_RDONLY) == (void *)-1 ? -1 : 0; }
static long try_shm_info(void) {
  struct shmid_ds found;
  return shmctl(0, 14 /* SHM_INFO */, &found);
}
static long try_msgget(void) { return syscall(SYS_msgget, IPC_PRIVATE, 0600); }
static long try_semget(void) { return semget(IPC_PRIVATE, 1, 0600); }

/* Memory hogs: allocate MiB by MiB, up to 2 GiB, and print how much they got. */
static void touch(char *place) {
  for (long at = 0; at < MIB; at += 4096) place[at] = 1;
}
static long hog(int flags, int descriptor, int hide) {
  for (long taken = 0; taken < 2048; taken++) {
    char *place = mmap(NULL, MIB, PROT_READ | PROT_WRITE, flags, descriptor, 0);
    if (place == MAP_FAILED) return -1;
    touch(place);
    /* Pages of shared memory remain when those of the process are freed. */
    if (hide) madvise(place, MIB, MADV_DONTNEED);
    if (hide > 1) munmap(place + 4096, MIB - 4096);
    if (taken % 16 == 0) printf("took %ld\n", taken), fflush(stdout);
  }
  return 0;
}
static long hog_private(void) { return hog(MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
static long hog_shared(void) { return hog(MAP_SHARED | MAP_ANONYMOUS, -1, 0); }
static long hog_hidden(void) { return hog(MAP_SHARED | MAP_ANONYMOUS, -1, 1); }
static long hog_scraps(void) { return hog(MAP_SHARED | MAP_ANONYMOUS, -1, 2); }
static long hog_zero(void) { return hog(MAP_SHARED, open("/dev/zero", O_RDWR), 1); }
static long hog_unseen(void) { /* not dumpable: other processes cannot inspect it */
  prctl(PR_SET_DUMPABLE, 0);
  return hog(MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}
static long hog_many(void) {
  for (int child = 0; child < 40; child++)
    if (fork() == 0) {
      for (int taken = 0; taken < 16; taken++) {
        char *place = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (place == MAP_FAILED) _exit(1);
        touch(place);
      }
      pause();
    }
  wait(NULL); /* a child whose allocation failed, or that was killed for it */
  return refuse(ENOMEM);
}
static long hog_memfd(void) {
  char *page = calloc(1, MIB);
  for (long taken = 0; taken < 2048; taken++) {
    int file = (int)syscall(SYS_memfd_create, "x", 0);
    if (file < 0 || write(file, page, MIB) < 0) return -1;
    if (taken % 16 == 0) printf("took %ld\n", taken), fflush(stdout);
  }
  return 0;
}
static long hog_shm(void) {
  for (long taken = 0; taken < 2048; taken++) {
    int id = shmget(IPC_PRIVATE, MIB, 0600);
    if (id < 0) return -1;
    char *place = shmat(id, NULL, 0);
    if (place == (void *)-1) return -1;
    touch(place);
    shmdt(place);
    if (taken % 16 == 0) printf("took %ld\n", taken), fflush(stdout);
  }
  return 0;
}
static long hog_tables(void) { /* page tables without resident pages */
  char *place = mmap(NULL, 1L << 43, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return -1;
  volatile char seen;
  for (long at = 0; at < (1L << 41); at += 2 * MIB) {
    seen = place[at];
    if (at % (8192 * MIB) == 0) printf("took %ld\n", at / (512 * MIB)), fflush(stdout);
  }
  (void)seen;
  return 0;
}

/* Per-user kernel resources: takes as much as possible, holds it for a while, and prints how much it got. */
static long hold_for_a_while(const char *what, long count) {
  printf("%s %ld\n", what, count);
  fflush(stdout);
  sleep(number(0));
  return 0;
}
static long hold_inotify(void) {
  long count = 0;
  while (syscall(SYS_inotify_init1, 0) >= 0) count++;
  return hold_for_a_while("instances", count);
}
static long hold_timers(void) {
  int counts[2];
  long total = 0, one;
  if (pipe(counts)) return -1;
  for (int process = 0; process < 8; process++)
    if (fork() == 0) {
      struct sigevent nothing = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
      timer_t timer;
      for (one = 0; one < 20000 && timer_create(CLOCK_MONOTONIC, &nothing, &timer) == 0; one++) {}
      (void)!write(counts[1], &one, sizeof one);
      sleep(number(0));
      _exit(0);
    }
  for (int process = 0; process < 8; process++)
    if (read(counts[0], &one, sizeof one) == sizeof one) total += one;
  return hold_for_a_while("timers", total);
}
static long send_descriptors(int to, int what, int count) {
  char byte = 'x', space[CMSG_SPACE(sizeof(int) * 253)] = {0};
  struct iovec data = {&byte, 1};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = space,
                           .msg_controllen = CMSG_SPACE(sizeof(int) * count)};
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(sizeof(int) * count);
  for (int each = 0; each < count; each++) ((int *)CMSG_DATA(head))[each] = what;
  return sendmsg(to, &message, MSG_DONTWAIT);
}
static long hold_descriptors(void) {
  int file = open("/dev/null", O_RDONLY), pair[2];
  long count = 0;
  while (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0) {
    long before = count;
    while (count < 20000 && send_descriptors(pair[0], file, 100) >= 0) count += 100;
    if (count == before || count >= 20000) break;
  }
  return hold_for_a_while("descriptors", count);
}
/* Checks whether another program of the same user, with the default limit, can still send a descriptor. */
static long send_one(void) {
  struct rlimit usual = {1024, 1024};
  int pair[2];
  if (setrlimit(RLIMIT_NOFILE, &usual) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return -1;
  return send_descriptors(pair[0], 0, 1);
}
static long hold_pipes(void) {
  int counts[2];
  long total = 0, one;
  if (pipe(counts)) return -1;
  for (int process = 0; process < 16; process++)
    if (fork() == 0) {
      int made[2];
      for (one = 0; one < 2000 && pipe(made) == 0; one++) {}
      (void)!write(counts[1], &one, sizeof one);
      sleep(number(0));
      _exit(0);
    }
  for (int process = 0; process < 16; process++)
    if (read(counts[0], &one, sizeof one) == sizeof one) total += one;
  return hold_for_a_while("pipes", total);
}
static long hold_watches(void) {
  int counts[2];
  long total = 0, one;
  if (pipe(counts)) return -1;
  for (int process = 0; process < 50; process++)
    if (fork() == 0) {
      int files[360], made;
      struct epoll_event any = {.events = EPOLLIN};
      for (int each = 0; each < 360; each++) files[each] = eventfd(0, 0);
      one = 0;
      while ((made = epoll_create1(0)) >= 0)
        for (int each = 0; each < 360; each++) {
          if (epoll_ctl(made, EPOLL_CTL_ADD, files[each], &any)) break;
          one++;
        }
      (void)!write(counts[1], &one, sizeof one);
      sleep(number(0));
      _exit(0);
    }
  for (int process = 0; process < 50; process++)
    if (read(counts[0], &one, sizeof one) == sizeof one) total += one;
  return hold_for_a_while("watches", total);
}
static long large_pipe(void) {
  int made[2];
  if (pipe(made)) return -1;
  return fcntl(made[1], F_SETPIPE_SZ, 1 << 20);
}

/* Processes that resist being killed. */
static long bomb(void) {
  /* A limit that protects the machine if the sandbox fails. */
  struct rlimit most = {3000, 3000};
  setrlimit(RLIMIT_NPROC, &most);
  long made = 0, failed = 0;
  for (int round = 0; round < 2000; round++) {
    pid_t pid = fork();
    if (pid == 0) {
      for (;;) {
        if (fork() < 0) usleep(1000);
      }
    }
    if (pid > 0) made++;
    else failed++;
  }
  printf("made %ld failed %ld\n", made, failed);
  fflush(stdout);
  return failed ? refuse(EAGAIN) : 0;
}
static long stubborn(void) { /* daemonises with every trick, and writes into the pipe without end */
  for (int twice = 0; twice < 2; twice++) {
    pid_t pid = fork();
    if (pid < 0) return -1;
    if (pid > 0) return 0;
    setsid();
  }
  for (int signal = 1; signal < 65; signal++) sigaction(signal, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  prctl(PR_SET_PDEATHSIG, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (;;) {
    if (fork() == 0) continue; /* the child continues, the parent exits or stays alternately */
    if (getpid() % 2) _exit(0);
    pause();
  }
}

static const struct {
  const char *name;
  long (*attempt)(void);
} attempts[] = {
    {"hold_inotify", hold_inotify}, {"hold_timers", hold_timers}, {"hold_descriptors", hold_descriptors},
    {"send_one", send_one}, {"hold_pipes", hold_pipes}, {"large_pipe", large_pipe},
    {"hold_watches", hold_watches},
    {"mount", try_mount}, {"remount", try_remount}, {"bind", try_bind}, {"umount", try_umount},
    {"open_tree", try_open_tree}, {"move_mount", try_move_mount}, {"fsopen", try_fsopen},
    {"fsmount", try_fsmount}, {"fspick", try_fspick}, {"mount_setattr", try_mount_setattr},
    {"pivot_root", try_pivot_root}, {"chroot", try_chroot}, {"unshare", try_unshare}, {"clone", try_clone},
    {"clone3", try_clone3}, {"setns", try_setns}, {"setns_pidfd", try_setns_pidfd},
    {"setuid", try_setuid}, {"setgid", try_setgid}, {"setresuid", try_setresuid}, {"setfsuid", try_setfsuid},
    {"setgroups", try_setgroups}, {"capset", try_capset}, {"ambient", try_ambient},
    {"seccomp_off", try_seccomp_off}, {"new_privileges", try_new_privileges}, {"identity", identity},
    {"kill", try_kill}, {"tgkill", try_tgkill}, {"sigqueue", try_sigqueue}, {"pidfd_kill", try_pidfd_kill},
    {"owner_signal", try_owner_signal}, {"ptrace", try_ptrace}, {"seize", try_seize},
    {"ptrace_sibling", try_ptrace_sibling}, {"trace_me", try_trace_me}, {"read_memory", try_read_memory},
    {"write_memory", try_write_memory}, {"steal", try_steal}, {"kcmp", try_kcmp}, {"prlimit", try_prlimit},
    {"look_at_limits", try_look_at_limits}, {"renice", try_renice}, {"idle", try_idle},
    {"affinity", try_affinity}, {"ioprio", try_ioprio}, {"process_madvise", try_process_madvise},
    {"migrate_pages", try_migrate_pages}, {"io_uring", try_io_uring}, {"keyctl", try_keyctl},
    {"add_key", try_add_key}, {"request_key", try_request_key}, {"bpf", try_bpf},
    {"userfaultfd", try_userfaultfd}, {"perf", try_perf}, {"kexec", try_kexec}, {"kexec_file", try_kexec_file},
    {"init_module", try_init_module}, {"finit_module", try_finit_module}, {"delete_module", try_delete_module},
    {"swapon", try_swapon}, {"reboot", try_reboot}, {"settimeofday", try_settimeofday},
    {"clock_settime", try_clock_settime}, {"adjtimex", try_adjtimex}, {"sethostname", try_sethostname},
    {"setdomainname", try_setdomainname}, {"quotactl", try_quotactl}, {"syslog", try_syslog},
    {"acct", try_acct}, {"fanotify", try_fanotify}, {"personality", try_personality}, {"handle", try_handle},
    {"type", try_type}, {"type_upper", try_type_upper}, {"newest", try_newest},
#ifdef __x86_64__
    {"iopl", try_iopl}, {"ioperm", try_ioperm}, {"modify_ldt", try_modify_ldt}, {"old_call", try_old_call},
    {"x32", try_x32}, {"old_chmod", try_old_chmod}, {"old_create", try_old_create}, {"old_open", try_old_open},
    {"old_mkdir", try_old_mkdir}, {"old_mknod", try_old_mknod},
#endif
    {"chmod", try_chmod}, {"fchmod", try_fchmod}, {"fchmodat2", try_fchmodat2},
    {"create_mode", try_create_mode}, {"openat2_mode", try_openat2_mode}, {"tmpfile_mode", try_tmpfile_mode},
    {"mkdir_mode", try_mkdir_mode}, {"mknod_mode", try_mknod_mode}, {"mknod_device", try_mknod_device},
    {"read", try_read}, {"write", try_write}, {"truncate", try_truncate}, {"link", try_link},
    {"rename", try_rename}, {"exchange", try_exchange}, {"socket_path", try_socket_path},
    {"datagram_path", try_datagram_path}, {"pair_path", try_pair_path}, {"raw_pair_path", try_raw_pair_path},
    {"abstract", try_abstract}, {"abstract_datagram", try_abstract_datagram}, {"abstract_pair", try_abstract_pair},
    {"tcp", try_tcp}, {"udp", try_udp}, {"mptcp", try_mptcp}, {"fastopen", try_fastopen}, {"raw", try_raw},
    {"packet", try_packet}, {"vsock", try_vsock}, {"family", try_family}, {"netlink", try_netlink},
    {"bind_port", try_bind_port}, {"own_loopback", own_loopback}, {"shmget", try_shmget}, {"shmat", try_shmat},
    {"shm_info", try_shm_info}, {"msgget", try_msgget}, {"semget", try_semget}, {"hog_private", hog_private},
    {"hog_shared", hog_shared}, {"hog_hidden", hog_hidden}, {"hog_scraps", hog_scraps}, {"hog_zero", hog_zero},
    {"hog_many", hog_many}, {"hog_unseen", hog_unseen}, {"hog_memfd", hog_memfd}, {"hog_shm", hog_shm}, {"hog_tables", hog_tables},
    {"bomb", bomb}, {"stubborn", stubborn},
};

/* The usual seccomp filter of a container: no new namespaces, no mounts, and ENOSYS for clone3. */
static int contained(char **program) {
  const uint32_t spaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
  const uint32_t refused = SECCOMP_RET_ERRNO | EPERM, absent = SECCOMP_RET_ERRNO | ENOSYS;
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 435, 0, 1), /* clone3 */
      BPF_STMT(BPF_RET | BPF_K, absent),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setns, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mount, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 428, 1, 0), /* open_tree */
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 3),
      BPF_STMT(BPF_RET | BPF_K, refused),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, spaces, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, refused),
  };
  struct sock_fprog list = {LENGTH(filter), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &list)) {
    perror("contained");
    return 3;
  }
  if (!program[0]) return 3;
  execvp(program[0], program);
  perror(program[0]);
  return 3;
}

/* Root of a container with 65,536 mapped users, none of which is a user of this machine. */
static int mapped(char **program) {
  int begin[2], ready[2], status;
  char byte;
  if (!program[0] || pipe(begin) || pipe(ready)) return 3;
  pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWUSER)) {
      perror("unshare");
      return 3;
    }
    (void)!write(ready[1], "x", 1);
    close(begin[1]);
    if (read(begin[0], &byte, 1) != 1) return 3;
    close(begin[0]), close(ready[0]), close(ready[1]);
    if (setresgid(0, 0, 0) || setresuid(0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL)) return 3;
    execvp(program[0], program);
    perror(program[0]);
    return 3;
  }
  close(ready[1]);
  if (read(ready[0], &byte, 1) != 1) return 3;
  for (int each = 0; each < 2; each++) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", child, each ? "uid_map" : "gid_map");
    int map = open(path, O_WRONLY);
    if (write(map, "0 100000 65536", 14) != 14) return 3;
    close(map);
  }
  (void)!write(begin[1], "x", 1);
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

/* A careless parent: open descriptors of a secret, ignored and blocked signals, umask 0. */
static int burdened(char **program) {
  if (!program[0] || !program[1]) return 3;
  for (int copy = 40; copy < 44; copy++) {
    int file = open(program[0], O_RDONLY);
    if (file < 0 || dup2(file, copy) != copy) return 3;
    close(file);
  }
  sigset_t some;
  sigemptyset(&some);
  for (int each = 1; each < 32; each++)
    if (each == SIGPIPE || each == SIGINT || each == SIGTERM || each == SIGHUP) {
      signal(each, SIG_IGN);
      sigaddset(&some, each);
    }
  sigprocmask(SIG_BLOCK, &some, NULL);
  umask(0);
  execvp(program[1], program + 1);
  perror(program[1]);
  return 3;
}

int main(int count, char **arguments) {
  if (count < 2) return 2;
  if (strcmp(arguments[1], "contained") == 0) return contained(arguments + 2);
  if (strcmp(arguments[1], "burdened") == 0) return burdened(arguments + 2);
  if (strcmp(arguments[1], "mapped") == 0) return mapped(arguments + 2);
  given = arguments + 2;
  for (size_t index = 0; index < LENGTH(attempts); index++)
    if (strcmp(arguments[1], attempts[index].name) == 0) {
      if (attempts[index].attempt() >= 0) {
        puts("done");
        return 0;
      }
      printf("refused %s\n", strerrorname_np(errno));
      return 1;
    }
  fprintf(stderr, "no attempt is called %s\n", arguments[1]);
  return 2;
}
