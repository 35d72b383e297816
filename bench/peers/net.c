// Speaks to the bench's server: net ADDRESS PORT d|u MIB, or net ADDRESS PORT c COUNT PARALLEL. Prints nanoseconds: of the transfer; or
// of all connections, then the median of one (connect, a byte there and back, close).
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static struct sockaddr_in to;
static char buffer[1 << 20];

static int dial(char mode) {
    int one = 1, s = socket(AF_INET, SOCK_STREAM, 0);
    if (s < 0 || connect(s, (struct sockaddr *)&to, sizeof to) < 0) { perror("connect"); exit(1); }
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (write(s, &mode, 1) != 1) { perror("write"); exit(1); }
    return s;
}

static int compare(const void *a, const void *b) {
    long x = *(const long *)a, y = *(const long *)b;
    return x < y ? -1 : x > y;
}

static void connections(int count, int pipe_end) {
    long *each = malloc(count * sizeof(long));
    for (int i = 0; i < count; i++) {
        long start = now();
        int s = dial('1');
        if (read(s, buffer, 1) != 1) { perror("read"); exit(1); }
        each[i] = now() - start;
        close(s);
    }
    qsort(each, count, sizeof(long), compare);
    if (write(pipe_end, &each[count / 2], sizeof(long)) < 0) exit(1);
}

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    to.sin_family = AF_INET;
    to.sin_port = htons(atoi(argv[2]));
    inet_pton(AF_INET, argv[1], &to.sin_addr);
    long wanted = atol(argv[4]), start = now();
    if (argv[3][0] == 'd') {
        int s = dial('d');
        long left = wanted << 20, got;
        // As many as are asked for: a count follows the mode.
        if (write(s, &left, sizeof left) != sizeof left) return 1;
        while (left > 0 && (got = read(s, buffer, sizeof buffer)) > 0) left -= got;
        if (left > 0) { fprintf(stderr, "short by %ld\n", left); return 1; }
        printf("%ld\n", now() - start);
    } else if (argv[3][0] == 'u') {
        int s = dial('u');
        long left = wanted << 20, put;
        while (left > 0 && (put = write(s, buffer, left < (long)sizeof buffer ? left : (long)sizeof buffer)) > 0) left -= put;
        shutdown(s, SHUT_WR);
        if (left > 0 || read(s, buffer, 1) != 1) { fprintf(stderr, "short by %ld\n", left); return 1; }
        printf("%ld\n", now() - start);
    } else {
        int parallel = argc > 5 ? atoi(argv[5]) : 1, ends[2];
        if (pipe(ends) < 0) return 1;
        for (int i = 0; i < parallel; i++)
            if (fork() == 0) { connections(wanted / parallel, ends[1]); exit(0); }
        int status, bad = 0;
        while (wait(&status) > 0) bad |= status;
        long took = now() - start, median = 0;
        if (bad || read(ends[0], &median, sizeof median) != sizeof median) return 1;
        printf("%ld %ld\n", took, median);
    }
    return 0;
}
