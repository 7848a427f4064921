// SPDX-License-Identifier: Apache-2.0
//
// A provider with a correct Relu that misbehaves in one place, to show that a run ends with a
// right report whatever a provider does: OPS_HOSTILE=PLACE=DEED in the environment, for a
// constructor and a query know no options. In the kernel's places only cases of rank 2 meet it.
#include <fenv.h>
#include <ops_support/error.h>
#include <ops_support/host_device.h>
#include <ops_support/node.h>
#include <ops_support/provider.h>
#include <ops_support/tensor.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define GIBIBYTE ((size_t)1 << 30)

struct ops_kernel {
  char unused;
};

struct ops_prepared {
  int32_t rank;
  int64_t count;
};

// ---- Deeds ----------------------------------------------------------------------------------

static void sleep_for_ever(void) {
  const struct timespec pause = {1, 0};
  for (;;) nanosleep(&pause, NULL);
}

static void *sleep_in_thread(void *unused) {
  sleep_for_ever();
  return unused;
}

static void *crash_in_thread(void *unused) {
  const struct timespec pause = {0, 20000000};
  nanosleep(&pause, NULL);
  abort();
  return unused;
}

static void note_signal(int number) {
  (void)number;
}

static void segfault(void) {
  volatile int *nowhere = (volatile int *)(uintptr_t)getppid();  // a small number: not mapped
  *nowhere = 1;
}
static void spin(void) {
  for (volatile uint64_t i = 0;; ++i) continue;
}
static void exit_zero(void) {
  exit(0);
}
static void leave(void) {
  _exit(0);
}
static void flood(void) {
  char line[4096];
  memset(line, 'x', sizeof line - 1);
  line[sizeof line - 1] = '\n';
  for (int i = 0; i < 16384; ++i) {
    if (write(STDOUT_FILENO, line, sizeof line) < 0) return;
  }
}
static void close_files(void) {
  for (int fd = 0; fd < 1024; ++fd) close(fd);
}
static void replace_files(void) {
  for (int fd = 0; fd < 64; ++fd) {
    FILE *other = tmpfile();
    if (other) dup2(fileno(other), fd);
  }
}
static void leak(void) {
  for (size_t i = 0; i < 64; ++i) {
    volatile char *block = malloc(GIBIBYTE / 64);
    for (size_t k = 0; block && k < GIBIBYTE / 64; k += 4096) block[k] = 1;
  }
}
static void map(void) {
  volatile char *block = mmap(NULL, GIBIBYTE, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (block == MAP_FAILED) abort();
}
static void round_up(void) {
  fesetround(FE_UPWARD);
}
static void handle_signals(void) {
  static const int numbers[] = {SIGSEGV, SIGBUS, SIGTERM, SIGUSR1, SIGCHLD};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) signal(numbers[i], note_signal);
}
static void ignore_pipes(void) {
  signal(SIGPIPE, SIG_IGN);
}
static void block_signals(void) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
}
static void change_folder(void) {
  if (chdir("/") != 0) abort();
}
static void change_environment(void) {
  setenv("LC_ALL", "tr_TR.UTF-8", 1);
}
static void change_mask(void) {
  umask(0777);
}
static void fork_and_return(void) {
  if (fork() < 0) abort();
}
static void leave_child(void) {
  if (fork() != 0) return;
  setsid();
  sleep_for_ever();
}
static void kill_parent(void) {
  kill(getppid(), SIGKILL);
  sleep_for_ever();  // the signal that follows takes its time
}
static void kill_group(void) {
  kill(0, SIGKILL);
}
static void stop(void) {
  raise(SIGSTOP);
}
static void terminate(void) {
  raise(SIGTERM);
}
static void set_timer(void) {
  const struct itimerval soon = {.it_value = {.tv_usec = 200000}};
  setitimer(ITIMER_REAL, &soon, NULL);
}
static void forbid_files(void) {
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_NOFILE, &none);
}
static void start_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, sleep_in_thread, NULL) == 0) pthread_detach(thread);
}
static void start_crashing_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, crash_in_thread, NULL) == 0) pthread_detach(thread);
}
static void crash_at_exit(void) {
  atexit(abort);
}
static void hang_at_exit(void) {
  atexit(sleep_for_ever);
}
static void leave_with_7(void) {
  _exit(7);
}
static void exit_badly(void) {
  atexit(leave_with_7);
}

static const struct {
  const char *name;
  void (*run)(void);
} kDeeds[] = {{"segfault", segfault},
              {"abort", abort},
              {"hang", sleep_for_ever},
              {"spin", spin},
              {"exit", exit_zero},
              {"_exit", leave},
              {"flood", flood},
              {"close_files", close_files},
              {"replace_files", replace_files},
              {"leak", leak},
              {"map", map},
              {"round", round_up},
              {"handle_signals", handle_signals},
              {"ignore_pipes", ignore_pipes},
              {"block_signals", block_signals},
              {"folder", change_folder},
              {"environment", change_environment},
              {"umask", change_mask},
              {"fork", fork_and_return},
              {"child", leave_child},
              {"kill_parent", kill_parent},
              {"kill_group", kill_group},
              {"stop", stop},
              {"terminate", terminate},
              {"timer", set_timer},
              {"forbid_files", forbid_files},
              {"thread", start_thread},
              {"crash_in_thread", start_crashing_thread},
              {"crash_at_exit", crash_at_exit},
              {"hang_at_exit", hang_at_exit},
              {"exit_badly", exit_badly}};

// Once in a process.
static void reach(const char *place) {
  static atomic_flag done = ATOMIC_FLAG_INIT;
  const char *wanted = getenv("OPS_HOSTILE");
  const size_t size = strlen(place);
  if (!wanted || strncmp(wanted, place, size) != 0 || wanted[size] != '=') return;
  if (atomic_flag_test_and_set(&done)) return;
  for (size_t i = 0; i < sizeof kDeeds / sizeof *kDeeds; ++i) {
    if (strcmp(kDeeds[i].name, wanted + size + 1) == 0) {
      kDeeds[i].run();
      return;
    }
  }
  fprintf(stderr, "OPS_HOSTILE: no deed '%s'\n", wanted + size + 1);
  abort();
}

__attribute__((constructor)) static void construct(void) {
  reach("constructor");
}

__attribute__((destructor)) static void destruct(void) {
  reach("destructor");
}

// ---- Instance and device --------------------------------------------------------------------

static int32_t instance_create(const ops_host_api *api, ops_host *host,
                               const ops_key_value *options, uint64_t option_count,
                               ops_instance **out_instance, ops_error *error) {
  reach("instance_create");
  return ops_host_instance_create(api, host, options, option_count, out_instance, error);
}

static int32_t instance_destroy(ops_instance *instance, ops_error *error) {
  reach("instance_destroy");
  return ops_host_instance_destroy(instance, error);
}

static int32_t device_open(ops_instance *instance, uint64_t index, ops_device **out_device,
                           ops_error *error) {
  reach("device_open");
  return ops_host_device_open(instance, index, out_device, error);
}

static int32_t device_close(ops_device *device, ops_error *error) {
  reach("device_close");
  return ops_host_device_close(device, error);
}

static int32_t device_info(ops_device *device, ops_device_info *out_info, ops_error *error) {
  (void)device, (void)error;
  const ops_str name = OPS_STR("hostile");
  out_info->kind = OPS_DEVICE_CPU;
  out_info->memory_kinds = OPS_MEMORY_BIT(OPS_MEMORY_HOST);
  out_info->name = out_info->architecture = out_info->fingerprint = name;
  out_info->min_alignment = sizeof(float);
  return OPS_OK;
}

static const ops_instance_api kInstance = {.struct_size = sizeof(ops_instance_api),
                                           .create = instance_create,
                                           .destroy = instance_destroy,
                                           .device_count = ops_host_instance_device_count,
                                           .device_open = device_open,
                                           .device_close = device_close,
                                           .device_info = device_info};

// ---- Relu -----------------------------------------------------------------------------------

static int32_t claim(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                     ops_claim *out_claim, ops_error *error) {
  (void)device, (void)def, (void)node, (void)error;
  reach("claim");
  out_claim->answer = OPS_CLAIM_SUPPORTED;
  return OPS_OK;
}

static int32_t create(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                      ops_kernel **out_kernel, ops_error *error) {
  static ops_kernel kernel;
  (void)device, (void)def, (void)node, (void)error;
  reach("create");
  *out_kernel = &kernel;
  return OPS_OK;
}

static void destroy(ops_kernel *kernel) {
  (void)kernel;
  reach("destroy");
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepare_reply *reply, ops_error *error) {
  (void)kernel;
  const ops_type_info *x = ops_request_input(request, 0)->type;
  ops_prepared *prepared = calloc(1, sizeof *prepared);
  if (!prepared) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to prepare");
  prepared->rank = x->rank;
  prepared->count = 1;
  for (int32_t i = 0; i < x->rank; ++i) prepared->count *= x->dims[i];
  ops_reply_set_output(reply, 0, OPS_TYPE_FLOAT, x->rank, x->dims);
  if (x->rank == 2) reach("prepare");
  reply->prepared = prepared;
  return OPS_OK;
}

static void prepared_destroy(ops_prepared *prepared) {
  if (prepared && prepared->rank == 2) reach("prepared_destroy");
  free(prepared);
}

static int32_t execute(ops_prepared *prepared, const ops_execute_request *request,
                       ops_stream *stream, ops_error *error) {
  (void)stream;
  const float *x = ops_tensor_data(&request->inputs[0].tensor);
  float *y = ops_tensor_data(&request->outputs[0].tensor);
  for (int64_t i = 0; i < prepared->count; ++i) y[i] = x[i] < 0 ? 0 : x[i];
  if (prepared->rank != 2) return OPS_OK;
  reach("execute");
  const char *wanted = getenv("OPS_HOSTILE");
  if (!wanted || strcmp(wanted, "execute_lost") != 0) return OPS_OK;
  fputs("hostile driver: fallen off the bus\n", stderr);
  return ops_error_set(error, OPS_ERROR_DEVICE_LOST, "unit 3 does not answer");
}

static const ops_kernel_api kRelu = {.struct_size = sizeof(ops_kernel_api),
                                     .claim = claim,
                                     .create = create,
                                     .destroy = destroy,
                                     .prepare = prepare,
                                     .prepared_destroy = prepared_destroy,
                                     .execute = execute};

// ---- Tables ---------------------------------------------------------------------------------

static const ops_arg_def kOne[] = {{.struct_size = sizeof(ops_arg_def),
                                    .name = OPS_STR("X"),
                                    .type_param = OPS_STR("T"),
                                    .types = OPS_TYPE_BIT(OPS_TYPE_FLOAT)}};

static const ops_kernel_def kDefs[] = {{.struct_size = sizeof(ops_kernel_def),
                                        .op = OPS_STR("Relu"),
                                        .since = 6,
                                        .name = OPS_STR("hostile_relu"),
                                        .inputs = kOne,
                                        .input_count = 1,
                                        .input_stride = sizeof *kOne,
                                        .outputs = kOne,
                                        .output_count = 1,
                                        .output_stride = sizeof *kOne,
                                        .dynamic_shape = OPS_DYNAMIC_FULL,
                                        .flags = OPS_KERNEL_REENTRANT,
                                        .determinism = OPS_DETERMINISM_BITWISE,
                                        .api = &kRelu}};

static const ops_provider kProvider = {.struct_size = sizeof(ops_provider),
                                       .name = OPS_STR("hostile"),
                                       .vendor = OPS_STR("the conformance harness"),
                                       .version = OPS_STR("1.0.0"),
                                       .kernels = kDefs,
                                       .kernel_count = 1,
                                       .kernel_stride = sizeof *kDefs,
                                       .instance = &kInstance};

int32_t ops_provider_query(const ops_query_request *request, ops_query_reply *reply,
                           ops_error *error) {
  reach("query");
  return ops_provider_answer(&kProvider, 0, 0, OPS_SANITIZER_BUILD, request, reply, error);
}
