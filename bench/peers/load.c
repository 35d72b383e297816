/* Sends requests at a fixed rate, whatever the answers do, and says how long each took from when it was to be sent.
 *
 *     load PORT      HTTP/1.1 to 127.0.0.1, keep-alive; reads orders from standard input, one a line:
 *
 *     key KEY                      bearer key of all that follows
 *     step METHOD PATH [BODY]      one more request of the chain; {id} is the id that its first answer told, {target} the next target
 *     expect TEXT                  the last step's answer must hold it, or its status is told as 599
 *     mark TEXT                    the last step's FIRST is when this has come, not the first byte of the body
 *     target ID                    one more target; they take turns
 *     reset                        forgets steps and targets
 *     go COUNT INTERVAL CONNECTIONS SECONDS
 *
 * `go` starts COUNT chains, one every INTERVAL nanoseconds (0: all at once; -1: each when the one before has ended), at most
 * CONNECTIONS at once: what finds none free waits, and its clock runs. It ends when all have ended, or SECONDS after the
 * last was to start. One line for each chain: "OFFSET ID STATUS FIRST TOTAL [STATUS FIRST TOTAL]..." in nanoseconds, OFFSET
 * from `go` to when it was to start; times of the first step from then, of the others from the end of the one before;
 * status 0: no answer. Then an empty line. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define STEPS 4
#define ID 64
#define LINE 65536

struct step {
    char *method, *path, *body, *expect, *mark;
};
struct chain {
    long long due; /* when it was to start */
    char id[ID];
    int done; /* steps that have ended */
    int status[STEPS];
    long long first[STEPS], total[STEPS];
};
struct link {
    int fd, used, connecting; /* used: has answered before, so that a close may only mean that it idled */
    long chain;               /* -1: free */
    long long begun;          /* when the present step was to start */
    char *out, *in;
    size_t out_len, out_at, in_len, in_cap;
    long next_free;
};

static struct step steps[STEPS];
static int step_count;
static char **targets;
static long target_count, target_next;
static char key[512];
static int port, poll_fd, timer_fd;
static struct chain *chains;
static struct link *links;
static long link_count, link_most, free_head, chain_count, ended;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void wake_at(long long at) {
    struct itimerspec t = {{0, 0}, {at / 1000000000LL, at % 1000000000LL}};
    if (timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &t, NULL) < 0) die("timerfd_settime");
}

/* Copies a path, with what stands for {id} and {target}. */
static void fill(char *to, size_t room, const char *from, const char *id, const char *target) {
    size_t n = 0;
    while (*from && n + ID + 1 < room) {
        const char *value = NULL;
        if (!strncmp(from, "{id}", 4)) value = id, from += 4;
        else if (!strncmp(from, "{target}", 8)) value = target, from += 8;
        if (value) n += (size_t)snprintf(to + n, room - n, "%s", value);
        else to[n++] = *from++;
    }
    to[n] = 0;
}

static void watch(struct link *l, int op, unsigned events) {
    struct epoll_event e = {.events = events, .data.u64 = (unsigned long long)(l - links) + 1};
    if (epoll_ctl(poll_fd, op, l->fd, &e) < 0) die("epoll_ctl");
}

static void open_link(struct link *l) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    l->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (l->fd < 0) die("socket");
    setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    l->used = 0;
    l->connecting = connect(l->fd, (struct sockaddr *)&to, sizeof to) < 0;
    watch(l, EPOLL_CTL_ADD, l->connecting ? EPOLLOUT : EPOLLIN);
}

static void send_rest(struct link *l);

static void begin_step(struct link *l, long long at) {
    struct chain *c = &chains[l->chain];
    struct step *s = &steps[c->done];
    char path[4096];
    const char *target = target_count ? targets[target_next++ % target_count] : "";
    fill(path, sizeof path, s->path, c->id, target);
    size_t body = s->body ? strlen(s->body) : 0;
    free(l->out);
    int length = asprintf(&l->out,
        "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n%sContent-Length: %zu\r\n\r\n%s", s->method, path, port, key,
        body ? "Content-Type: application/json\r\n" : "", body, s->body ? s->body : "");
    if (length < 0) die("asprintf");
    l->out_len = (size_t)length;
    l->out_at = 0;
    l->in_len = 0;
    l->begun = at;
    if (l->fd < 0) open_link(l);
    send_rest(l);
}

static void shut(struct link *l) {
    if (l->fd >= 0) close(l->fd);
    l->fd = -1;
}

static void set_free(struct link *l) {
    l->chain = -1;
    l->next_free = free_head;
    free_head = l - links;
}

static void end_chain(struct link *l) {
    ended++;
    set_free(l);
}

/* The present step has ended with this status. */
static void end_step(struct link *l, int status) {
    struct chain *c = &chains[l->chain];
    long long at = now();
    if (!c->first[c->done]) c->first[c->done] = at - l->begun;
    c->total[c->done] = at - l->begun;
    c->status[c->done++] = status;
    if (status == 0) shut(l);
    if (c->done < step_count && status >= 200 && status < 300) begin_step(l, at);
    else end_chain(l);
}

static void send_rest(struct link *l) {
    while (!l->connecting && l->out_at < l->out_len) {
        ssize_t n = send(l->fd, l->out + l->out_at, l->out_len - l->out_at, MSG_NOSIGNAL);
        if (n > 0) l->out_at += (size_t)n;
        else if (n < 0 && errno == EAGAIN) {
            watch(l, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
            return;
        } else if (n < 0 && l->used) { /* it was closed while it idled */
            shut(l);
            l->out_at = 0;
            open_link(l);
        } else {
            end_step(l, 0);
            return;
        }
    }
}

/* Length of the whole answer once it is there, else 0; `body`: where its body begins, 0 before that. */
static size_t whole(const struct link *l, size_t *body) {
    char *head = memmem(l->in, l->in_len, "\r\n\r\n", 4);
    *body = 0;
    if (!head) return 0;
    size_t at = (size_t)(head - l->in) + 4;
    *body = at;
    *head = 0;
    char *length = strcasestr(l->in, "\r\nContent-Length:");
    int chunked = strcasestr(l->in, "\r\nTransfer-Encoding: chunked") != NULL;
    size_t end = at + (length ? strtoul(length + 17, NULL, 10) : 0);
    *head = '\r';
    if (!chunked) return l->in_len >= end ? end : 0;
    for (;;) {
        char *line = memmem(l->in + at, l->in_len - at, "\r\n", 2);
        if (!line) return 0;
        size_t size = strtoul(l->in + at, NULL, 16);
        at = (size_t)(line - l->in) + 2 + size + 2;
        if (at > l->in_len) return 0;
        if (size == 0) return at;
    }
}

static void read_more(struct link *l) {
    for (;;) {
        if (l->in_cap - l->in_len < 4096) {
            l->in_cap = l->in_cap ? l->in_cap * 2 : 8192;
            l->in = realloc(l->in, l->in_cap);
            if (!l->in) die("realloc");
        }
        ssize_t n = recv(l->fd, l->in + l->in_len, l->in_cap - l->in_len - 1, 0);
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) {
            int again = l->chain >= 0 && l->used && l->in_len == 0;
            shut(l);
            if (again) {
                l->out_at = 0;
                open_link(l);
                send_rest(l);
            } else if (l->chain >= 0) end_step(l, 0);
            return;
        }
        l->in_len += (size_t)n;
        l->in[l->in_len] = 0;
        if (l->chain < 0) { /* nobody asked */
            shut(l);
            return;
        }
        struct chain *c = &chains[l->chain];
        struct step *s = &steps[c->done];
        size_t body, end = whole(l, &body);
        if (!c->first[c->done] && body && l->in_len > body && (!s->mark || memmem(l->in + body, l->in_len - body, s->mark, strlen(s->mark))))
            c->first[c->done] = now() - l->begun;
        if (!end) continue;
        int status = atoi(l->in + 9);
        if (s->expect && status < 300 && !memmem(l->in + body, end - body, s->expect, strlen(s->expect))) status = 599;
        char *id = c->done == 0 ? strstr(l->in + body, "\"id\":\"") : NULL;
        if (id) snprintf(c->id, ID, "%.*s", (int)strcspn(id + 6, "\""), id + 6);
        l->used = 1;
        l->in[body - 2] = 0;
        int closing = strcasestr(l->in, "\r\nConnection: close") != NULL;
        if (closing) shut(l);
        end_step(l, status);
        return;
    }
}

static void run(long count, long long interval, long most, long long seconds) {
    long started = 0;
    long long begin = now() + 1000000, limit = 0;
    chains = calloc((size_t)count, sizeof *chains);
    if (!chains) die("calloc");
    chain_count = count;
    ended = 0;
    if (most > link_most) die("more connections than at the start");
    for (long i = 0; i < count; i++) chains[i].due = interval < 0 ? 0 : begin + i * interval;
    limit = (interval < 0 ? begin : begin + (count - 1) * interval) + seconds * 1000000000LL;
    wake_at(begin);
    while (ended < count && now() < limit) {
        struct epoll_event events[256];
        int n = epoll_wait(poll_fd, events, 256, 100);
        for (int i = 0; i < n; i++) {
            if (events[i].data.u64 == 0) {
                unsigned long long fired;
                if (read(timer_fd, &fired, sizeof fired) < 0 && errno != EAGAIN) die("timerfd");
                continue;
            }
            struct link *l = &links[events[i].data.u64 - 1];
            if (l->fd < 0) continue;
            if (l->connecting) {
                int error = 0;
                socklen_t size = sizeof error;
                getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &error, &size);
                l->connecting = 0;
                if (error) {
                    if (l->chain >= 0) end_step(l, 0);
                    else shut(l);
                    continue;
                }
                watch(l, EPOLL_CTL_MOD, EPOLLIN);
                send_rest(l);
            } else if (events[i].events & EPOLLOUT) {
                watch(l, EPOLL_CTL_MOD, EPOLLIN);
                send_rest(l);
            }
            if (l->fd >= 0 && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_more(l);
        }
        for (;;) {
            if (started >= count || (interval < 0 && started > ended)) break;
            if (interval >= 0 && chains[started].due > now()) {
                wake_at(chains[started].due);
                break;
            }
            long in_use = started - ended;
            if (in_use >= most) break;
            struct link *l;
            if (free_head >= 0) {
                l = &links[free_head];
                free_head = l->next_free;
            } else l = &links[link_count++];
            if (interval < 0) chains[started].due = now();
            l->chain = started;
            begin_step(l, chains[started++].due);
        }
    }
    for (long i = 0; i < count; i++) {
        struct chain *c = &chains[i];
        printf("%lld %s", c->due - begin, c->id[0] ? c->id : "-");
        for (int k = 0; k < c->done; k++) printf(" %d %lld %lld", c->status[k], c->first[k], c->total[k]);
        if (c->done == 0) printf(" 0 0 0");
        printf("\n");
    }
    printf("\n");
    fflush(stdout);
    for (long i = 0; i < link_count; i++)
        if (links[i].chain >= 0) {
            shut(&links[i]);
            links[i].used = 0;
            set_free(&links[i]);
        }
    free(chains);
}

static char *copy(const char *text) {
    char *made = text ? strdup(text) : NULL;
    if (text && !made) die("strdup");
    return made;
}

static void add_step(char *rest) {
    char *at = rest, *method = strsep(&at, " "), *path = strsep(&at, " ");
    if (step_count == STEPS || !path) die("step");
    steps[step_count++] = (struct step){copy(method), copy(path), copy(at), NULL, NULL};
}

static void order(char *line) {
    char *rest = line, *word = strsep(&rest, " ");
    if (!strcmp(word, "reset")) step_count = 0, target_count = 0, target_next = 0;
    else if (!rest) die(word);
    else if (!strcmp(word, "key")) snprintf(key, sizeof key, "%s", rest);
    else if (!strcmp(word, "step")) add_step(rest);
    else if (!strcmp(word, "expect") && step_count) steps[step_count - 1].expect = copy(rest);
    else if (!strcmp(word, "mark") && step_count) steps[step_count - 1].mark = copy(rest);
    else if (!strcmp(word, "target")) {
        targets = realloc(targets, (size_t)(target_count + 1) * sizeof *targets);
        if (!targets) die("realloc");
        targets[target_count++] = copy(rest);
    } else if (!strcmp(word, "go")) {
        long count, most, seconds;
        long long interval;
        if (sscanf(rest, "%ld %lld %ld %ld", &count, &interval, &most, &seconds) != 4 || step_count == 0 || count < 1) die("go");
        run(count, interval, most, seconds);
    } else die(word);
}

int main(int argc, char **argv) {
    static char line[LINE];
    struct rlimit files;
    struct epoll_event timer = {.events = EPOLLIN, .data.u64 = 0};
    if (argc != 2) {
        fprintf(stderr, "usage: load PORT\n");
        return 2;
    }
    port = atoi(argv[1]);
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    link_most = 4096;
    links = calloc((size_t)link_most, sizeof *links);
    poll_fd = epoll_create1(EPOLL_CLOEXEC);
    timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (!links || poll_fd < 0 || timer_fd < 0 || epoll_ctl(poll_fd, EPOLL_CTL_ADD, timer_fd, &timer) < 0) die("load");
    free_head = -1;
    for (long i = 0; i < link_most; i++) links[i].fd = links[i].chain = -1;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        order(line);
    }
    return 0;
}
