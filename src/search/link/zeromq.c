/*
 * The link over ZeroMQ: a ROUTER for those below, a DEALER to the one above, CURVE on both, and ZAP for who may
 * come in. Both key pairs come from the search's secret, so whoever has it can be told from who has not.
 */
#include "search/link/link.h"

#include "base/alloc.h"

#ifdef SN_HAVE_ZMQ

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "base/sha256.h"
#include "wire/link.h"

enum { KEY_TEXT = 41, KEY_BYTES = 32, WATERMARK = 20000, LINGER_MS = 300 };
/* Of connections; agents have beats of their own. */
enum { BEAT_MS = 500, SILENCE_MS = 1500, RECONNECT_MS = 100, RECONNECT_MOST_MS = 1000 };
/* A handshake may take long where a thousand processes begin at once. */
enum { HANDSHAKE_MS = 60000 };

struct keys {
	char server_public[KEY_TEXT], server_secret[KEY_TEXT];
	char client_public[KEY_TEXT], client_secret[KEY_TEXT];
	uint8_t client[KEY_BYTES]; /* client_public, as ZAP has it */
};

struct sn_link {
	void *context;
	void *above, *below, *zap, *monitor; /* NULL: there is none */
	struct keys keys;
	bool (*is_cut)(void *context);
	void *cut_context;
	uint32_t connections;
	uint64_t refused;
	zmq_msg_t message; /* that was received last */
};

/* ---- the library ---- */

#define FUNCTIONS(X)                                                                               \
	X(zmq_ctx_new)                                                                             \
	X(zmq_ctx_term)                                                                            \
	X(zmq_ctx_set)                                                                             \
	X(zmq_socket)                                                                              \
	X(zmq_close)                                                                               \
	X(zmq_setsockopt)                                                                          \
	X(zmq_getsockopt)                                                                          \
	X(zmq_bind)                                                                                \
	X(zmq_connect)                                                                             \
	X(zmq_send)                                                                                \
	X(zmq_recv)                                                                                \
	X(zmq_poll)                                                                                \
	X(zmq_msg_init)                                                                            \
	X(zmq_msg_close)                                                                           \
	X(zmq_msg_recv)                                                                            \
	X(zmq_msg_data)                                                                            \
	X(zmq_msg_size)                                                                            \
	X(zmq_msg_more)                                                                            \
	X(zmq_socket_monitor)                                                                      \
	X(zmq_z85_encode)                                                                          \
	X(zmq_z85_decode)                                                                          \
	X(zmq_curve_public)                                                                        \
	X(zmq_has)                                                                                 \
	X(zmq_strerror)                                                                            \
	X(zmq_errno)

#define POINTER(name) __typeof__(&name) name;
static struct {
	FUNCTIONS(POINTER)
} zmq;

sn_status sn_link_check(struct sn_error *err)
{
	static void *library;
	bool is_whole = true;

	if (library)
		return SN_OK;
	library = dlopen("libzmq.so.5", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return sn_error_set(
			err, SN_ERR_UNSUPPORTED,
			"search: agents need ZeroMQ, which is not installed (Debian: libzmq5)");
#define FIND(name)                                                                                 \
	*(void **)&zmq.name = dlsym(library, #name);                                               \
	is_whole = is_whole && zmq.name;
	FUNCTIONS(FIND)
	if (is_whole && zmq.zmq_has("curve"))
		return SN_OK;
	dlclose(library);
	library = NULL;
	return sn_error_set(
		err, SN_ERR_UNSUPPORTED,
		"search: the ZeroMQ that is installed is older than 4.3 or lacks CURVE");
}

static sn_status failed(struct sn_error *err, const char *what)
{
	return sn_error_set(err, SN_ERR_IO, "search: %s: %s", what,
			    zmq.zmq_strerror(zmq.zmq_errno()));
}

/* ---- keys ---- */

/* Any 32 bytes are a secret key of Curve25519. */
static void pair_derive(const char *what, const uint8_t secret[SN_LINK_SECRET],
			char public_key[KEY_TEXT], char secret_key[KEY_TEXT])
{
	struct sn_sha256 hash;
	uint8_t digest[KEY_BYTES];

	sn_sha256_begin(&hash);
	sn_sha256_add(&hash, what, strlen(what) + 1);
	sn_sha256_add(&hash, secret, SN_LINK_SECRET);
	sn_sha256_end(&hash, digest);
	zmq.zmq_z85_encode(secret_key, digest, KEY_BYTES);
	zmq.zmq_curve_public(public_key, secret_key);
	explicit_bzero(digest, sizeof(digest));
}

static void keys_derive(const uint8_t secret[SN_LINK_SECRET], struct keys *out)
{
	pair_derive("sonde search parent", secret, out->server_public, out->server_secret);
	pair_derive("sonde search child", secret, out->client_public, out->client_secret);
	zmq.zmq_z85_decode(out->client, out->client_public);
}

/* ---- sockets ---- */

static void option(void *socket, int name, int value)
{
	zmq.zmq_setsockopt(socket, name, &value, sizeof(value));
}

static void *socket_new(struct sn_link *link, int type)
{
	void *socket = zmq.zmq_socket(link->context, type);

	if (!socket)
		return NULL;
	option(socket, ZMQ_LINGER, LINGER_MS);
	option(socket, ZMQ_SNDHWM, WATERMARK);
	option(socket, ZMQ_RCVHWM, WATERMARK);
	option(socket, ZMQ_HEARTBEAT_IVL, BEAT_MS);
	option(socket, ZMQ_HEARTBEAT_TIMEOUT, SILENCE_MS);
	option(socket, ZMQ_RECONNECT_IVL, RECONNECT_MS);
	option(socket, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MOST_MS);
	option(socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS);
	return socket;
}

sn_status sn_link_open(const uint8_t secret[SN_LINK_SECRET], bool (*is_cut)(void *context),
		       void *context, struct sn_link **out, struct sn_error *err)
{
	struct sn_link *link;

	if (sn_link_check(err) != SN_OK)
		return err->status;
	link = sn_alloc_zeroed(1, sizeof(*link));
	link->is_cut = is_cut;
	link->cut_context = context;
	link->context = zmq.zmq_ctx_new();
	if (!link->context) {
		free(link);
		return failed(err, "ZeroMQ does not start");
	}
	zmq.zmq_ctx_set(link->context, ZMQ_MAX_SOCKETS, 16);
	zmq.zmq_msg_init(&link->message);
	keys_derive(secret, &link->keys);
	*out = link;
	return SN_OK;
}

static sn_status zap_open(struct sn_link *link, struct sn_error *err)
{
	int events = ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

	link->zap = zmq.zmq_socket(link->context, ZMQ_REP);
	if (!link->zap || zmq.zmq_bind(link->zap, "inproc://zeromq.zap.01"))
		return failed(err, "ZeroMQ cannot ask who may come in");
	link->monitor = zmq.zmq_socket(link->context, ZMQ_PAIR);
	if (!link->monitor || zmq.zmq_socket_monitor(link->below, "inproc://refused", events) ||
	    zmq.zmq_connect(link->monitor, "inproc://refused"))
		return failed(err, "ZeroMQ does not tell of strangers");
	option(link->zap, ZMQ_LINGER, 0);
	option(link->monitor, ZMQ_LINGER, 0);
	return SN_OK;
}

sn_status sn_link_listen(struct sn_link *link, char address[SN_LINK_ADDRESS], struct sn_error *err)
{
	size_t length = SN_LINK_ADDRESS;
	int64_t most = SN_LINK_MESSAGE_MOST;
	sn_status status;

	link->below = socket_new(link, ZMQ_ROUTER);
	if (!link->below)
		return failed(err, "ZeroMQ gives no socket");
	status = zap_open(link, err);
	if (status != SN_OK)
		return status;
	option(link->below, ZMQ_CURVE_SERVER, 1);
	option(link->below, ZMQ_BACKLOG, 4096);
	zmq.zmq_setsockopt(link->below, ZMQ_MAXMSGSIZE, &most, sizeof(most));
	zmq.zmq_setsockopt(link->below, ZMQ_CURVE_SECRETKEY, link->keys.server_secret, KEY_TEXT);
	zmq.zmq_setsockopt(link->below, ZMQ_ZAP_DOMAIN, "sonde", 5);
	if (zmq.zmq_bind(link->below, address) ||
	    zmq.zmq_getsockopt(link->below, ZMQ_LAST_ENDPOINT, address, &length))
		return failed(err, "no port for agents");
	return SN_OK;
}

/* A name that no connection had before, so that what is sent to an earlier one is not taken for ours. */
static void name_set(struct sn_link *link, uint32_t agent, uint32_t epoch)
{
	uint32_t name[SN_LINK_PEER / 4] = { agent | 1u << 31, epoch, ++link->connections };

	/* a name may not begin with a zero byte */
	name[0] = __builtin_bswap32(name[0]);
	zmq.zmq_setsockopt(link->above, ZMQ_ROUTING_ID, name, sizeof(name));
}

sn_status sn_link_connect(struct sn_link *link, const char *address, uint32_t agent, uint32_t epoch,
			  struct sn_error *err)
{
	int64_t most = SN_LINK_MESSAGE_MOST;

	if (link->above) {
		option(link->above, ZMQ_LINGER, 0);
		zmq.zmq_close(link->above);
	}
	link->above = socket_new(link, ZMQ_DEALER);
	if (!link->above)
		return failed(err, "ZeroMQ gives no socket");
	name_set(link, agent, epoch);
	zmq.zmq_setsockopt(link->above, ZMQ_MAXMSGSIZE, &most, sizeof(most));
	zmq.zmq_setsockopt(link->above, ZMQ_CURVE_SERVERKEY, link->keys.server_public, KEY_TEXT);
	zmq.zmq_setsockopt(link->above, ZMQ_CURVE_PUBLICKEY, link->keys.client_public, KEY_TEXT);
	zmq.zmq_setsockopt(link->above, ZMQ_CURVE_SECRETKEY, link->keys.client_secret, KEY_TEXT);
	if (zmq.zmq_connect(link->above, address))
		return failed(err, "no way to the parent");
	return SN_OK;
}

/* ---- sending ---- */

static bool is_cut(const struct sn_link *link)
{
	return link->is_cut && link->is_cut(link->cut_context);
}

void sn_link_send_up(struct sn_link *link, const struct sn_text *message)
{
	if (link->above && message->length && !is_cut(link))
		zmq.zmq_send(link->above, message->chars, message->length, ZMQ_DONTWAIT);
}

void sn_link_send_down(struct sn_link *link, const struct sn_link_peer *peer,
		       const struct sn_text *message)
{
	if (!link->below || !message->length || is_cut(link))
		return;
	if (zmq.zmq_send(link->below, peer->id, sizeof(peer->id), ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
		zmq.zmq_send(link->below, message->chars, message->length, ZMQ_DONTWAIT);
}

/* ---- receiving ---- */

enum { ZAP_PARTS = 8, ZAP_PART = 256 };
enum { ZAP_VERSION, ZAP_REQUEST, ZAP_MECHANISM = 5, ZAP_CREDENTIALS };

static size_t parts_receive(void *socket, char parts[ZAP_PARTS][ZAP_PART], int lengths[ZAP_PARTS])
{
	size_t count = 0, room = sizeof(int);
	int more = 1;

	while (more) {
		char ignored[ZAP_PART];
		int length = zmq.zmq_recv(socket, count < ZAP_PARTS ? parts[count] : ignored,
					  ZAP_PART, ZMQ_DONTWAIT);

		if (length < 0)
			return 0;
		if (count < ZAP_PARTS)
			lengths[count] = length < ZAP_PART ? length : ZAP_PART;
		count++;
		zmq.zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &room);
	}
	return count;
}

/* The one key of this search comes in (ZeroMQ RFC 27). */
static void stranger_judge(struct sn_link *link)
{
	char parts[ZAP_PARTS][ZAP_PART];
	int lengths[ZAP_PARTS] = { 0 };
	size_t count = parts_receive(link->zap, parts, lengths);
	bool is_ours;

	if (count <= ZAP_REQUEST)
		return;
	is_ours = count == ZAP_CREDENTIALS + 1 && lengths[ZAP_MECHANISM] == 5 &&
		  !memcmp(parts[ZAP_MECHANISM], "CURVE", 5) &&
		  lengths[ZAP_CREDENTIALS] == KEY_BYTES &&
		  !memcmp(parts[ZAP_CREDENTIALS], link->keys.client, KEY_BYTES);
	zmq.zmq_send(link->zap, "1.0", 3, ZMQ_SNDMORE);
	zmq.zmq_send(link->zap, parts[ZAP_REQUEST], (size_t)lengths[ZAP_REQUEST], ZMQ_SNDMORE);
	zmq.zmq_send(link->zap, is_ours ? "200" : "400", 3, ZMQ_SNDMORE);
	zmq.zmq_send(link->zap, is_ours ? "OK" : "no", 2, ZMQ_SNDMORE);
	zmq.zmq_send(link->zap, "", 0, ZMQ_SNDMORE);
	zmq.zmq_send(link->zap, "", 0, 0);
}

static bool monitor_read(struct sn_link *link)
{
	char parts[ZAP_PARTS][ZAP_PART];
	int lengths[ZAP_PARTS];

	if (!parts_receive(link->monitor, parts, lengths))
		return false;
	link->refused++;
	return true;
}

static bool part_receive(struct sn_link *link, void *socket)
{
	zmq.zmq_msg_close(&link->message);
	zmq.zmq_msg_init(&link->message);
	return zmq.zmq_msg_recv(&link->message, socket, ZMQ_DONTWAIT) >= 0;
}

/* The last part of a message; false: there is none, or it is none of ours. */
static bool message_receive(struct sn_link *link, void *socket, struct sn_link_message *out)
{
	bool is_ours = true;

	out->is_from_above = socket == link->above;
	if (!part_receive(link, socket))
		return false;
	if (!out->is_from_above) {
		is_ours = zmq.zmq_msg_size(&link->message) == SN_LINK_PEER &&
			  zmq.zmq_msg_more(&link->message);
		if (is_ours)
			memcpy(out->peer.id, zmq.zmq_msg_data(&link->message), SN_LINK_PEER);
		if (zmq.zmq_msg_more(&link->message) && !part_receive(link, socket))
			return false;
	}
	while (zmq.zmq_msg_more(&link->message)) {
		is_ours = false;
		if (!part_receive(link, socket))
			return false;
	}
	out->bytes = zmq.zmq_msg_data(&link->message);
	out->length = zmq.zmq_msg_size(&link->message);
	return is_ours && !is_cut(link);
}

static size_t sockets_list(const struct sn_link *link, zmq_pollitem_t items[4])
{
	void *const all[] = { link->zap, link->monitor, link->above, link->below };
	size_t count = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i])
			items[count++] = (zmq_pollitem_t){ .socket = all[i], .events = ZMQ_POLLIN };
	return count;
}

bool sn_link_receive(struct sn_link *link, int timeout_ms, struct sn_link_message *out)
{
	zmq_pollitem_t items[4];
	size_t count = sockets_list(link, items);

	if (zmq.zmq_poll(items, (int)count, timeout_ms) <= 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!(items[i].revents & ZMQ_POLLIN))
			continue;
		if (items[i].socket == link->zap)
			stranger_judge(link);
		else if (items[i].socket == link->monitor)
			monitor_read(link);
		else if (message_receive(link, items[i].socket, out))
			return true;
	}
	return false;
}

uint64_t sn_link_refused(const struct sn_link *link)
{
	return link->refused;
}

void sn_link_close(struct sn_link *link)
{
	void *sockets[4];

	if (!link)
		return;
	sockets[0] = link->monitor;
	sockets[1] = link->zap;
	sockets[2] = link->above;
	sockets[3] = link->below;
	if (link->below)
		zmq.zmq_socket_monitor(link->below, NULL, 0);
	for (size_t i = 0; i < sizeof(sockets) / sizeof(*sockets); i++)
		if (sockets[i])
			zmq.zmq_close(sockets[i]);
	zmq.zmq_msg_close(&link->message);
	zmq.zmq_ctx_term(link->context);
	explicit_bzero(&link->keys, sizeof(link->keys));
	free(link);
}

#else

sn_status sn_link_check(struct sn_error *err)
{
	return sn_error_set(
		err, SN_ERR_UNSUPPORTED,
		"search: agents need ZeroMQ, and this sonde was built without it (Debian: "
		"libzmq3-dev)");
}

sn_status sn_link_open(const uint8_t secret[SN_LINK_SECRET], bool (*is_cut)(void *context),
		       void *context, struct sn_link **out, struct sn_error *err)
{
	(void)secret;
	(void)is_cut;
	(void)context;
	(void)out;
	return sn_link_check(err);
}

sn_status sn_link_listen(struct sn_link *link, char address[SN_LINK_ADDRESS], struct sn_error *err)
{
	(void)link;
	(void)address;
	return sn_link_check(err);
}

sn_status sn_link_connect(struct sn_link *link, const char *address, uint32_t agent, uint32_t epoch,
			  struct sn_error *err)
{
	(void)link;
	(void)address;
	(void)agent;
	(void)epoch;
	return sn_link_check(err);
}

void sn_link_send_up(struct sn_link *link, const struct sn_text *message)
{
	(void)link;
	(void)message;
}

void sn_link_send_down(struct sn_link *link, const struct sn_link_peer *peer,
		       const struct sn_text *message)
{
	(void)link;
	(void)peer;
	(void)message;
}

bool sn_link_receive(struct sn_link *link, int timeout_ms, struct sn_link_message *out)
{
	(void)link;
	(void)timeout_ms;
	(void)out;
	return false;
}

uint64_t sn_link_refused(const struct sn_link *link)
{
	(void)link;
	return 0;
}

void sn_link_close(struct sn_link *link)
{
	(void)link;
}

#endif
