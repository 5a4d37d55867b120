/*
 * The only way between the network of a sandbox and us:  relay PORT
 *
 * It runs inside that network as an ordinary program of the sandbox. It listens on 127.0.0.1:PORT (0: it does
 * not) and carries every connection that somebody makes there over its standard input and output; the other way
 * round it makes connections to 127.0.0.1 for us. It closes its standard error when it listens and has said so, and
 * writes there before that why it cannot. It ends with 0 when its standard input ends, and after SIGTERM once all
 * programs have closed what they had open and all that they sent is written; every other signal is blocked.
 *
 * Both ways the channel is a row of frames: type (1 byte), connection (4 bytes), length of what follows (4 bytes,
 * at most MOST_IN_FRAME), all little-endian.
 *
 *   HELLO    the first that the relay says, once it listens: a byte with the version
 *   OPEN     a new connection. The relay's have the numbers 1, 3, 5 ... and say no more; ours have 2, 4, 6 ... and
 *            say which port (2 bytes). Each is taken again as soon as it is free.
 *   OPENED   the relay has made the connection that we asked for; from now on it is like any other
 *   REFUSED  it has not: the number of the error (4 bytes). It stands for the relay's RESET.
 *   DATA     at least one byte. Each side begins with a window for each connection, TO_RELAY and TO_HOST, and
 *            what it sends takes from that.
 *   CREDIT   gives the other side so much of its window back (4 bytes)
 *   END      no more data from this side
 *   RESET    the last that a side says of a connection. It is an orderly end when both sides have said END, and
 *            breaks the connection otherwise. When both have said RESET, the number is free.
 *
 * We are believed to keep to that; who does not is left. What programs do to the sockets is never believed: each
 * holds up nobody but itself, and takes no more memory than a window.
 */
#include <asm/socket.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/in.h>
#include <linux/mman.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/signal.h>
#include <linux/tcp.h>
#include <linux/time.h>

#include "../freestanding.h"

enum { HELLO = 1, OPEN, OPENED, REFUSED, DATA, CREDIT, END, RESET };

#define VERSION 1
#define HEADER 9
#define MOST_IN_FRAME 32768
#define TO_RELAY 262144
#define TO_HOST 65536

/* Connections that programs made, and that we asked for. */
#define THEIRS 256
#define OURS 64
#define CONNECTIONS (THEIRS + OURS)

/* The codes that it ends with. */
enum { ENDED = 0, MISUSED = 2, CANNOT_LISTEN = 3, BROKEN_CHANNEL = 4, UNHEARD = 5 };

#define AF_INET 2
#define SOCK_STREAM 1
#define SHUT_WR 1

/* What is to be written; where too little is free, frames and then data have to wait. */
#define OUT 262144
#define ROOM_FOR_DATA 65536
#define ROOM_FOR_FRAMES 49152
#define IN 131072

struct connection {
  int used, fd;
  int connecting;
  /* What has been said by this side, and by the other one. */
  int said_end, said_reset, heard_end, heard_reset;
  /* Told the program that no more data will come. */
  int shut;
  /* What may still be sent to the other side, what that may still send, and what has been written of it since
     it was last given credit. */
  unsigned int credit, window, taken;
  /* What the program has not taken yet: a ring of TO_RELAY bytes, while there is any. */
  unsigned char *ring;
  unsigned int start, length;
};

static struct connection connections[CONNECTIONS];
static unsigned char out[OUT], in[IN];
static unsigned int out_start, out_end, in_length;
static int listener = -1, terminations = -1;
static int ends_soon;
/* For so many rounds nobody is let in, since a socket could not be had. */
static int closed_rounds;
static int quiet;

void *memcpy(void *to, const void *from, unsigned long length);
void *memset(void *to, int value, unsigned long length);

/* Towards lower addresses the two may overlap. */
void *memcpy(void *to, const void *from, unsigned long length) {
#if defined(__x86_64__)
  void *target = to;
  __asm__ volatile("rep movsb" : "+D"(target), "+S"(from), "+c"(length) : : "memory");
#else
  unsigned char *target = to;
  const unsigned char *source = from;
  for (; length >= 8; length -= 8, target += 8, source += 8) {
    unsigned long word;
    __asm__ volatile("ldr %0, [%1]\n str %0, [%2]" : "=&r"(word) : "r"(source), "r"(target) : "memory");
  }
  while (length--) {
    __asm__ volatile("" : : : "memory");
    *target++ = *source++;
  }
#endif
  return to;
}

void *memset(void *to, int value, unsigned long length) {
  for (unsigned char *target = to; length--; target++) {
    __asm__ volatile("" : : : "memory");
    *target = (unsigned char)value;
  }
  return to;
}

static void say(const char *what, long error) {
  char text[96] = "relay: ", digits[20];
  unsigned int length = 7, count = 0;
  while (*what && length < 64) text[length++] = *what++;
  for (; error > 0; error /= 10) digits[count++] = (char)('0' + error % 10);
  while (count > 0) text[length++] = digits[--count];
  text[length++] = '\n';
  if (!quiet) call(__NR_write, 2, text, length);
}

static unsigned int number_at(const unsigned char *bytes) {
  return bytes[0] | (unsigned int)bytes[1] << 8 | (unsigned int)bytes[2] << 16 | (unsigned int)bytes[3] << 24;
}

static void put_number(unsigned char *bytes, unsigned int number) {
  for (int index = 0; index < 4; index++) bytes[index] = (unsigned char)(number >> 8 * index);
}

static unsigned int room(void) { return OUT - (out_end - out_start); }

/* Where so many bytes can be put that are to be written; there is room for them. */
static unsigned char *space(unsigned int length) {
  if (OUT - out_end < length) {
    memcpy(out, out + out_start, out_end - out_start);
    out_end -= out_start;
    out_start = 0;
  }
  return out + out_end;
}

static void put_header(unsigned char *to, int type, unsigned int id, unsigned int length) {
  to[0] = (unsigned char)type;
  put_number(to + 1, id);
  put_number(to + 5, length);
}

/* Small frames always find room: of each connection there are only so many before a frame of ours answers. */
static void put_frame(int type, unsigned int id, unsigned int length, unsigned int number) {
  if (room() < HEADER + 4) leave(BROKEN_CHANNEL);
  unsigned char *to = space(HEADER + 4);
  put_header(to, type, id, length);
  put_number(to + HEADER, number);
  out_end += HEADER + length;
}

/* Writes what is to be written, as far as it is taken now. */
static void flush(void) {
  while (out_start < out_end) {
    long written = call(__NR_write, 1, out + out_start, out_end - out_start);
    if (written == -EAGAIN) return;
    if (written < 0 && written != -EINTR) leave(UNHEARD);
    if (written > 0) out_start += (unsigned int)written;
  }
  out_start = out_end = 0;
}

static unsigned int id_of(const struct connection *one) {
  unsigned int index = (unsigned int)(one - connections);
  return index < THEIRS ? 2 * index + 1 : 2 * (index - THEIRS) + 2;
}

static struct connection *connection_of(unsigned int id) {
  unsigned int index = (id - 1) / 2;
  if (id == 0) return 0;
  if (id % 2) return index < THEIRS ? &connections[index] : 0;
  return index < OURS ? &connections[THEIRS + index] : 0;
}

static void take_up(struct connection *one, int fd, int connecting) {
  int yes = 1;
  *one = (struct connection){.used = 1, .fd = fd, .connecting = connecting, .credit = TO_HOST, .window = TO_RELAY};
  call(__NR_setsockopt, fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static void empty_ring(struct connection *one) {
  if (one->ring) call(__NR_munmap, one->ring, TO_RELAY);
  one->ring = 0;
  one->start = one->length = 0;
}

static void free_when_over(struct connection *one) {
  if (one->said_reset && one->heard_reset) one->used = 0;
}

static void close_socket(struct connection *one) {
  call(__NR_close, one->fd);
  one->fd = -1;
  empty_ring(one);
  /* A descriptor is free again. */
  closed_rounds = 0;
}

/* Says the last word on a connection: RESET, or REFUSED with an error. */
static void end_with(struct connection *one, int type, unsigned int error) {
  close_socket(one);
  one->said_reset = 1;
  put_frame(type, id_of(one), type == REFUSED ? 4 : 0, error);
  free_when_over(one);
}

/* The program shall see that it was broken, and not that it ended. */
static void break_off(struct connection *one) {
  int now[2] = {1, 0};
  call(__NR_setsockopt, one->fd, SOL_SOCKET, SO_LINGER, now, sizeof now);
  end_with(one, RESET, 0);
}

/* Hands on that no more will come, once all before it was taken, and ends what is over both ways. */
static void hand_end_on(struct connection *one) {
  if (one->heard_end && !one->shut && one->length == 0) {
    one->shut = 1;
    call(__NR_shutdown, one->fd, SHUT_WR);
  }
  if (one->shut && one->said_end) end_with(one, RESET, 0);
}

static void give_credit(struct connection *one, unsigned int taken) {
  one->taken += taken;
  if (one->taken < TO_RELAY / 4 || one->heard_end) return;
  put_frame(CREDIT, id_of(one), 4, one->taken);
  one->window += one->taken;
  one->taken = 0;
}

/* Writes to the program; how much it took, or less than nothing when it is gone. */
static long write_some(struct connection *one, const unsigned char *from, unsigned int length) {
  long written = call(__NR_write, one->fd, from, length);
  if (written == -EAGAIN || written == -EINTR) return 0;
  if (written < 0) {
    end_with(one, RESET, 0);
    return -1;
  }
  give_credit(one, (unsigned int)written);
  return written;
}

static void write_ring(struct connection *one) {
  while (one->length > 0) {
    unsigned int most = TO_RELAY - one->start;
    long written = write_some(one, one->ring + one->start, one->length < most ? one->length : most);
    if (written < 0) return;
    if (written == 0) break;
    one->start = (one->start + (unsigned int)written) % TO_RELAY;
    one->length -= (unsigned int)written;
  }
  if (one->length > 0) return;
  empty_ring(one);
  hand_end_on(one);
}

static void keep(struct connection *one, const unsigned char *data, unsigned int length) {
  if (!one->ring) {
    long ring = call(__NR_mmap, 0, TO_RELAY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (ring < 0 && ring > -4096) {
      break_off(one);
      return;
    }
    one->ring = (unsigned char *)ring;
  }
  unsigned int end = (one->start + one->length) % TO_RELAY;
  unsigned int first = TO_RELAY - end < length ? TO_RELAY - end : length;
  memcpy(one->ring + end, data, first);
  memcpy(one->ring, data + first, length - first);
  one->length += length;
}

static void take_data(struct connection *one, const unsigned char *data, unsigned int length) {
  long written = 0;
  if (length == 0 || length > one->window || one->heard_end) leave(BROKEN_CHANNEL);
  one->window -= length;
  if (one->said_reset) return;
  if (one->length == 0) written = write_some(one, data, length);
  if (written >= 0 && written < length) keep(one, data + written, length - (unsigned int)written);
}

static void take_reset(struct connection *one) {
  one->heard_reset = 1;
  if (one->said_reset) free_when_over(one);
  else if (!one->said_end || !one->heard_end) break_off(one);
}

static int make_socket(struct sockaddr_in *address, unsigned int port) {
  *address = (struct sockaddr_in){.sin_family = AF_INET};
  address->sin_port = (unsigned short)(port >> 8 | (port & 0xff) << 8);
  put_number((unsigned char *)&address->sin_addr, 0x0100007f);
  return (int)call(__NR_socket, AF_INET, SOCK_STREAM | O_NONBLOCK | O_CLOEXEC, 0);
}

static void open_ours(unsigned int id, unsigned int port) {
  struct connection *one = connection_of(id);
  struct sockaddr_in address;
  if (!one || one->used || id % 2 || port == 0) leave(BROKEN_CHANNEL);
  int fd = make_socket(&address, port);
  take_up(one, fd, 1);
  long result = fd < 0 ? fd : call(__NR_connect, fd, &address, sizeof address);
  if (result == 0) {
    one->connecting = 0;
    put_frame(OPENED, id, 0, 0);
  } else if (result != -EINPROGRESS && result != -EINTR) {
    end_with(one, REFUSED, (unsigned int)-result);
  }
}

static void take_frame(int type, unsigned int id, const unsigned char *payload, unsigned int length) {
  struct connection *one = connection_of(id);
  if (type == OPEN && length == 2) {
    open_ours(id, payload[0] | (unsigned int)payload[1] << 8);
    return;
  }
  if (!one || !one->used || one->heard_reset) leave(BROKEN_CHANNEL);
  if (type == RESET && length == 0) {
    take_reset(one);
    return;
  }
  if (one->connecting && !one->said_reset) leave(BROKEN_CHANNEL);
  if (type == DATA) {
    take_data(one, payload, length);
  } else if (type == CREDIT && length == 4) {
    unsigned int more = number_at(payload);
    if (more == 0 || more > TO_HOST - one->credit) leave(BROKEN_CHANNEL);
    one->credit += more;
  } else if (type == END && length == 0 && !one->heard_end) {
    one->heard_end = 1;
    if (!one->said_reset) hand_end_on(one);
  } else {
    leave(BROKEN_CHANNEL);
  }
}

/* Does what was read says, while there is room for the answers; false when not all whole frames were taken. */
static int take_frames(void) {
  unsigned int at = 0;
  int all = 1;
  while (in_length - at >= HEADER) {
    unsigned int length = number_at(in + at + 5);
    if (length > MOST_IN_FRAME) leave(BROKEN_CHANNEL);
    if (in_length - at < HEADER + length) break;
    if (room() < ROOM_FOR_FRAMES) {
      all = 0;
      break;
    }
    take_frame(in[at], number_at(in + at + 1), in + at + HEADER, length);
    at += HEADER + length;
  }
  if (at > 0) memcpy(in, in + at, in_length - at);
  in_length -= at;
  return all;
}

static void read_channel(void) {
  long length = call(__NR_read, 0, in + in_length, IN - in_length);
  if (length == -EAGAIN || length == -EINTR) return;
  if (length <= 0) leave(ENDED);
  in_length += (unsigned int)length;
}

static int may_read(const struct connection *one) {
  return !one->said_end && !one->connecting && one->credit > 0 && room() >= ROOM_FOR_DATA;
}

static void read_program(struct connection *one) {
  unsigned int most = one->credit < MOST_IN_FRAME ? one->credit : MOST_IN_FRAME;
  unsigned char *to = space(HEADER + most);
  long length = call(__NR_read, one->fd, to + HEADER, most);
  if (length == -EAGAIN || length == -EINTR) return;
  if (length < 0) {
    end_with(one, RESET, 0);
  } else if (length == 0) {
    one->said_end = 1;
    put_frame(END, id_of(one), 0, 0);
    hand_end_on(one);
  } else {
    put_header(to, DATA, id_of(one), (unsigned int)length);
    out_end += HEADER + (unsigned int)length;
    one->credit -= (unsigned int)length;
  }
}

static void finish_connecting(struct connection *one) {
  int error = 0, length = sizeof error;
  call(__NR_getsockopt, one->fd, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error) {
    end_with(one, REFUSED, (unsigned int)error);
    return;
  }
  one->connecting = 0;
  put_frame(OPENED, id_of(one), 0, 0);
}

/* What to wait for; nothing is not even looked at, since a socket that was hung up on would never be still. */
static short wanted(const struct connection *one) {
  if (one->connecting) return POLLOUT;
  return (short)((may_read(one) ? POLLIN : 0) | (one->length > 0 ? POLLOUT : 0));
}

static void serve(struct connection *one) {
  if (one->connecting) {
    finish_connecting(one);
    return;
  }
  if (one->length > 0) write_ring(one);
  if (one->fd >= 0 && may_read(one)) read_program(one);
}

static struct connection *free_place(void) {
  for (int index = 0; index < THEIRS; index++)
    if (!connections[index].used) return &connections[index];
  return 0;
}

/* Takes in who waits. Who finds no place waits on, as far as the kernel lets it. */
static void let_in(void) {
  for (struct connection *one; (one = free_place());) {
    long fd = call(__NR_accept4, listener, 0, 0, O_NONBLOCK | O_CLOEXEC);
    if (fd == -EAGAIN) return;
    if (fd == -EINTR || fd == -ECONNABORTED) continue;
    if (fd < 0) {
      closed_rounds = 10;
      return;
    }
    take_up(one, (int)fd, 0);
    put_frame(OPEN, id_of(one), 0, 0);
  }
}

static void listen_on(unsigned int port) {
  struct sockaddr_in address;
  int yes = 1;
  listener = make_socket(&address, port);
  long result = listener;
  if (result >= 0) result = call(__NR_setsockopt, listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (result >= 0) result = call(__NR_bind, listener, &address, sizeof address);
  if (result >= 0) result = call(__NR_listen, listener, 1024);
  if (result >= 0) return;
  say("cannot listen on 127.0.0.1, error ", -result);
  leave(CANNOT_LISTEN);
}

/* A number up to 65535, or -1. */
static int port_in(const char *text) {
  int port = text && *text ? 0 : -1;
  for (; port >= 0 && *text; text++) {
    if (*text < '0' || *text > '9') return -1;
    port = port * 10 + (*text - '0');
    if (port > 65535) return -1;
  }
  return port;
}

static void prepare(const char *argument) {
  unsigned long every_signal = ~0ul, termination = 1ul << (SIGTERM - 1);
  int port = port_in(argument);
  quiet = call(__NR_fcntl, 2, F_GETFD) < 0;
  for (int stream = 0; stream <= 1; stream++) {
    long flags = call(__NR_fcntl, stream, F_GETFL);
    if (flags < 0) {
      say("standard input and output must be open", 0);
      leave(MISUSED);
    }
    call(__NR_fcntl, stream, F_SETFL, flags | O_NONBLOCK);
  }
  if (port < 0) {
    say("its argument must be a port", 0);
    leave(MISUSED);
  }
  /* An interrupt is for programs. One that writes to nobody is told by an error. */
  call(__NR_rt_sigprocmask, SIG_BLOCK, &every_signal, 0, sizeof every_signal);
  terminations = (int)call(__NR_signalfd4, -1, &termination, sizeof termination, O_CLOEXEC | O_NONBLOCK);
  /* Its neighbours may have the same user: they shall not open its descriptors, or its memory. */
  call(__NR_prctl, PR_SET_DUMPABLE, 0);
  if (port > 0) listen_on((unsigned int)port);
}

/* Whether a program may still send something, or has sent what is not written yet. */
static int has_more_to_say(void) {
  for (int index = 0; index < CONNECTIONS; index++) {
    const struct connection *one = &connections[index];
    if (one->used && one->fd >= 0 && !one->said_end) return 1;
  }
  return out_start < out_end;
}

/* How many milliseconds to wait for something to do; less than none for as long as it takes. */
static int patience(int frames_wait) {
  if (frames_wait && room() >= ROOM_FOR_FRAMES) return 0;
  if (ends_soon && !has_more_to_say()) return 0;
  return closed_rounds ? 100 : -1;
}

/* Waits until something has happened to what is watched, or for so long. */
static long wait_for(struct pollfd *watched, int count, int milliseconds) {
  /* The kernel writes here what is left of it. */
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  return call(__NR_ppoll, watched, count, milliseconds < 0 ? 0 : &time, 0, 0);
}

static void wait_and_serve(int frames_wait) {
  static struct pollfd watched[4 + CONNECTIONS];
  static struct connection *behind[CONNECTIONS];
  static unsigned int first;
  struct pollfd *input, *output, *listening = 0, *ending = 0, *next = watched;
  int count = 0;

  /* Never more than there are descriptors: the kernel refuses a longer list. */
  *(output = next++) = (struct pollfd){1, out_start < out_end ? POLLOUT : 0, 0};
  *(input = next++) = (struct pollfd){frames_wait || in_length == IN ? -1 : 0, POLLIN, 0};
  if (listener >= 0 && closed_rounds == 0 && free_place())
    *(listening = next++) = (struct pollfd){listener, POLLIN, 0};
  if (terminations >= 0 && !ends_soon) *(ending = next++) = (struct pollfd){terminations, POLLIN, 0};
  struct pollfd *sockets = next;
  first = (first + 1) % CONNECTIONS;
  for (unsigned int index = 0; index < CONNECTIONS; index++) {
    struct connection *one = &connections[(first + index) % CONNECTIONS];
    if (!one->used || one->fd < 0 || !wanted(one)) continue;
    behind[count++] = one;
    *next++ = (struct pollfd){one->fd, wanted(one), 0};
  }
  long ready = wait_for(watched, (int)(next - watched), patience(frames_wait));
  if (ready < 0) return;
  if (ready == 0 && ends_soon && !has_more_to_say()) leave(ENDED);
  if (closed_rounds > 0) closed_rounds--;

  if (input->revents) read_channel();
  if (output->revents & ~POLLOUT) leave(UNHEARD);
  for (int index = 0; index < count; index++)
    if (sockets[index].revents) serve(behind[index]);
  if (listening && listening->revents) let_in();
  if (ending && ending->revents) ends_soon = 1;
}

static void begin(long *stack) {
  prepare(stack[0] == 2 ? (const char *)stack[2] : 0);
  put_frame(HELLO, 0, 1, VERSION);
  flush();
  /* Whoever started it sees that it is ready: nothing will be said here any more. */
  call(__NR_close, 2);
  for (;;) {
    int all = take_frames();
    flush();
    wait_and_serve(!all);
  }
}
