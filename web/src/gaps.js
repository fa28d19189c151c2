// When threads waited for a CPU. The kernel gives one sum a thread; samples and traced calls tell when
// the thread was on no CPU and in no call that blocks. The sum is laid over those stretches, the short
// ones first: a thread that is pushed off its CPU waits for milliseconds, one that sleeps in a call
// that nobody traced may do so for long. So no stretch takes more than a common limit, and what is
// over it stays unexplained.

// Stretches of one thread, in units of time: [from, to, from, to...], in order. `busy` and `blocked`
// are such lists; busy ones end at a sample and may begin before the end of the one before.
export function stretches(start, end, busy, blocked) {
	const free = [];
	let at = start, b = 0;
	const upTo = (until) => { // what is left of [at, until) without the blocked
		for (; b < blocked.length && blocked[b] < until; b += 2) {
			if (blocked[b] > at)
				free.push(at, blocked[b]);
			at = Math.max(at, blocked[b + 1]);
			if (blocked[b + 1] > until)
				return;
		}
		if (until > at)
			free.push(at, until);
	};
	for (let i = 0; i < busy.length; i += 2) {
		if (busy[i] > at)
			upTo(busy[i]);
		at = Math.max(at, busy[i + 1]);
	}
	if (end > at)
		upTo(end);
	return free;
}

// The limit: so much of each length, at most, makes `sum` together. Infinity where all of them do not.
export function limitOf(lengths, sum) {
	const sorted = Float64Array.from(lengths).sort();
	let left = sum;
	for (let i = 0; i < sorted.length; i++) {
		const each = left / (sorted.length - i);
		if (each <= sorted[i])
			return each;
		left -= sorted[i];
	}
	return Infinity;
}

// Of all threads: { thread, from, to, share }, times in the unit of records.
export function waitsForCpu(threads, records, waits, unitNs, sliceNs) {
	const out = { thread: [], from: [], to: [], share: [] }, slice = sliceNs / unitNs;
	let r = 0, w = 0;
	for (let t = 0; t < threads.rows; t++) {
		const busy = [], blocked = [], start = threads.start_ns[t] / unitNs, end = threads.end_ns[t] / unitNs;
		for (; r < records.rows && records.thread[r] <= t; r++) {
			const cpu = records.cpu_us[r] * 1000 / unitNs, stamp = records.time[r];
			if (records.thread[r] === t && records.samples[r] > 0)
				busy.push(...slice ? [stamp + slice - Math.min(cpu, slice), stamp + slice] : [stamp - cpu, stamp]);
		}
		for (; w < waits.rows && waits.thread[w] <= t; w++)
			if (waits.thread[w] === t)
				blocked.push(waits.time[w], waits.time[w] + waits.duration[w]);
		const sum = threads.wait_cpu_ns[t] / unitNs;
		if (!(sum > 0) || !(end > start))
			continue;
		const free = stretches(start, end, busy, blocked);
		const limit = limitOf(free.filter((_, i) => i % 2).map((to, i) => to - free[2 * i]), sum);
		for (let i = 0; i < free.length; i += 2) {
			out.thread.push(t);
			out.from.push(free[i]);
			out.to.push(free[i + 1]);
			out.share.push(Math.min(1, limit / (free[i + 1] - free[i])));
		}
	}
	return out;
}
