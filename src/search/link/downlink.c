/* Peers in a list, and which of them each agent is reached by. */
#include "search/link/downlink.h"

#include <string.h>

size_t sn_downlink_heard(struct sn_downlink *d, const struct sn_link_peer *id, int64_t now_ns)
{
	size_t i = 0;

	while (i < d->peers.count && memcmp(&d->peers.items[i].id, id, sizeof(*id)))
		i++;
	if (i == d->peers.count)
		sn_vec_push(&d->peers, (struct sn_downlink_peer){ .id = *id });
	d->peers.items[i].heard_ns = now_ns;
	return i;
}

void sn_downlink_route(struct sn_downlink *d, uint32_t agent, size_t peer)
{
	*sn_map_put(&d->route, agent, NULL) = peer;
}

void sn_downlink_beat(struct sn_downlink *d, size_t peer, const struct sn_link_frame *beat,
		      int64_t front_age_ns)
{
	struct sn_downlink_peer *p = &d->peers.items[peer];
	struct sn_cursor cur = sn_cursor_over(beat->body, beat->length);
	uint32_t count = sn_cursor_u32(&cur);
	struct sn_link_frame answer = { .type = SN_LINK_BEAT,
					.agent = beat->agent,
					.epoch = beat->epoch };
	struct sn_text body = { 0 };

	p->below.count = 0;
	sn_vec_push(&p->below, beat->agent);
	while (count-- && sn_cursor_left(&cur) >= 4)
		sn_vec_push(&p->below, sn_cursor_u32(&cur));
	for (size_t i = 0; i < p->below.count; i++)
		sn_downlink_route(d, p->below.items[i], peer);
	sn_body_u64(&body, (uint64_t)front_age_ns);
	answer.body = (const uint8_t *)body.chars;
	answer.length = (uint32_t)body.length;
	sn_link_frame_add(&p->out, &answer);
	sn_text_free(&body);
}

void sn_downlink_queue(struct sn_downlink *d, const struct sn_link_frame *frame, int64_t now_ns)
{
	const uint64_t *place = sn_map_get(&d->route, frame->agent);

	if (frame->agent != SN_LINK_FRONT) {
		if (place)
			sn_link_frame_add(&d->peers.items[*place].out, frame);
		return;
	}
	for (size_t i = 0; i < d->peers.count; i++)
		if (now_ns - d->peers.items[i].heard_ns < SN_DOWNLINK_STALE_NS)
			sn_link_frame_add(&d->peers.items[i].out, frame);
}

void sn_downlink_flush(struct sn_downlink *d, struct sn_link *link)
{
	for (size_t i = 0; i < d->peers.count; i++) {
		sn_link_send_down(link, &d->peers.items[i].id, &d->peers.items[i].out);
		sn_text_clear(&d->peers.items[i].out);
	}
}

static void peer_free(struct sn_downlink_peer *peer)
{
	sn_vec_free(&peer->below);
	sn_text_free(&peer->out);
}

/* Ways count anew: the latest of those that are left. */
void sn_downlink_sweep(struct sn_downlink *d, int64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->peers.count; i++) {
		if (now_ns - d->peers.items[i].heard_ns >= SN_DOWNLINK_STALE_NS)
			peer_free(&d->peers.items[i]);
		else
			d->peers.items[kept++] = d->peers.items[i];
	}
	if (kept == d->peers.count)
		return;
	d->peers.count = kept;
	sn_map_free(&d->route);
	for (size_t i = 0; i < kept; i++)
		for (size_t k = 0; k < d->peers.items[i].below.count; k++)
			sn_downlink_route(d, d->peers.items[i].below.items[k], i);
}

void sn_downlink_free(struct sn_downlink *d)
{
	for (size_t i = 0; i < d->peers.count; i++)
		peer_free(&d->peers.items[i]);
	sn_vec_free(&d->peers);
	sn_map_free(&d->route);
}
