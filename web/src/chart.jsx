// Charts of numbers over numbers: areas, lines and steps, with a cursor, and a drag that chooses a
// range. Drawn on a canvas, as a point a pixel is too much for markup.
import { Fragment, h } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Canvas, Swatch, Tip, colourOf, useSize } from './parts.jsx';

const RIGHT = 8, TOP = 8, FONT = '11px system-ui, "DejaVu Sans", sans-serif';

// Round numbers in [low, high], about `count` of them, no nearer than `least`.
export function ticksOf(low, high, count, least = 0) {
	const raw = Math.max(least, (high - low) / Math.max(1, count)), power = 10 ** Math.floor(Math.log10(raw));
	const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw * 0.999), list = [];
	for (let k = Math.ceil(low / step - 1e-6); list.length < 99 && k * step <= high + step * 1e-6; k++)
		list.push(+(k * step).toPrecision(9));
	return list;
}

// A drag over an element from x to x: what to give the element, and the drag (null, or its two ends).
// `onEnd(from, to)` in pixels; a press without a move is onClick(x, y).
export function useDrag({ can = () => true, onEnd, onClick, onMove }) {
	const [drag, setDrag] = useState(null);
	const where = (e) => {
		const box = e.currentTarget.getBoundingClientRect();
		return [e.clientX - box.left, e.clientY - box.top];
	};
	return [drag, {
		onPointerDown: (e) => {
			const [x] = where(e);
			if (e.button === 0 && onEnd && can(x)) {
				setDrag([x, x]);
				e.currentTarget.setPointerCapture(e.pointerId);
			}
		},
		onPointerMove: (e) => {
			const [x, y] = where(e);
			if (drag)
				setDrag([drag[0], x]);
			onMove?.(x, y, e);
		},
		onPointerUp: (e) => {
			const [x, y] = where(e);
			if (drag && Math.abs(x - drag[0]) > 4)
				onEnd(drag[0], x);
			else
				onClick?.(x, y);
			setDrag(null);
		},
		onPointerCancel: () => setDrag(null),
		onPointerLeave: (e) => onMove?.(-1, -1, e),
	}];
}

// The part of a picture that is in view, [low, high] within [0, 1], and a change of it. `text` is what
// the address keeps of it, and `save(text)` keeps it there once the hand rests.
export function useZoom(text, save) {
	const read = (words) => {
		const [, low, high] = /^([\d.]+)-([\d.]+)$/.exec(words ?? '') ?? [];
		return +high > +low && +high <= 1 ? [+low, +high] : [0, 1];
	};
	const [view, setView] = useState(() => read(text));
	const kept = useRef(text), timer = useRef();
	useEffect(() => {
		if (text !== kept.current)
			setView(read(text));
		kept.current = text;
	}, [text]);
	useEffect(() => () => clearTimeout(timer.current), []);
	return [view, (low, high) => {
		const span = Math.min(1, Math.max(1e-6, high - low)), from = Math.min(Math.max(0, low), 1 - span);
		setView([from, from + span]);
		clearTimeout(timer.current);
		timer.current = setTimeout(() => {
			const short = (v) => v.toFixed(7).replace(/\.?0+$/, '');
			kept.current = span < 1 ? `${short(from)}-${short(from + span)}` : null;
			save?.(kept.current);
		}, 250);
	}];
}

// The wheel over a picture: with ctrl (or as a pinch) it zooms around the pointer, with shift or
// sideways it moves what is zoomed; alone it scrolls the page, as everywhere. `where(x)` is the pointer
// within the picture, 0 to 1.
export function useWheel(ref, view, change, where) {
	const latest = useRef(), pending = useRef(null);
	latest.current = { view, change, where };
	useEffect(() => {
		const apply = () => {
			const { zoom, move, x } = pending.current, { view: [low, high], change: set, where: at } = latest.current;
			const part = Math.min(1, Math.max(0, at(x))), span = Math.min(1, (high - low) * Math.exp(zoom / 400));
			pending.current = null;
			const from = low + (high - low) * part - span * part + move / 900 * span;
			set(from, from + span);
		};
		const onWheel = (e) => {
			const zoom = e.ctrlKey || e.metaKey ? e.deltaY : 0, isWhole = latest.current.view[1] - latest.current.view[0] >= 1;
			const move = zoom ? 0 : e.shiftKey ? e.deltaX || e.deltaY : Math.abs(e.deltaX) > Math.abs(e.deltaY) ? e.deltaX : 0;
			if (!zoom && (!move || isWhole))
				return;
			e.preventDefault();
			const before = pending.current ?? (requestAnimationFrame(apply), { zoom: 0, move: 0 });
			pending.current = { zoom: before.zoom + zoom, move: before.move + move, x: e.clientX - ref.current.getBoundingClientRect().left };
		};
		const element = ref.current;
		element.addEventListener('wheel', onWheel, { passive: false });
		return () => element.removeEventListener('wheel', onWheel);
	}, []);
}

// The same by keys; true if the key was one of them.
export function zoomKey(key, [low, high], change) {
	const span = high - low, middle = (low + high) / 2;
	const to = { '+': span / 1.5, '=': span / 1.5, '-': span * 1.5, 0: 1 }[key];
	const step = { ArrowLeft: -span / 8, ArrowRight: span / 8 }[key];
	if (to === undefined && step === undefined)
		return false;
	change(...to ? [middle - to / 2, middle + to / 2] : [low + step, high + step]);
	return true;
}

// What a drag has chosen so far.
export function Chosen({ drag, low, high, top, height }) {
	const [a, b] = [Math.min(...drag), Math.max(...drag)].map((x) => Math.min(Math.max(x, low), high));
	return <div class="chosen" style={{ left: a + 'px', width: b - a + 'px', top: top + 'px', height: height + 'px' }} />;
}

// data: [x, y...], x ascending. series: [{ label, colour (a custom property), fill, steps, dots, dash, bars ([low...], [high...]: intervals) }].
// Steps hold from their x to the next. tip(i): what the cursor says of point i. onSelect(x, x): a
// range was dragged. onPick(i): a point was clicked. level: [y, words], a line across. xLeast: 1 for whole numbers.
export function Chart({ data, series, xLabel, yLabel, height = 150, yRange, xRange, onSelect, onPick, theme, label, xUnit = '', yUnit = '', xLeast, tip, level }) {
	const ref = useRef();
	const [width] = useSize(ref);
	const [hover, setHover] = useState(null);
	const [x, ...ys] = data, count = x.length;
	const LEFT = yLabel ? 60 : 46, bottom = xLabel ? 34 : 20, wide = Math.max(1, width - LEFT - RIGHT), high = height - TOP - bottom;
	const [x0, x1] = xRange ?? [x[0], Math.max(x[count - 1], x[0] + 1e-9)];
	const [y0, y1] = yRange ?? [0, ys.reduce((m, y) => y.reduce((a, b) => b > a ? b : a, m), 0) * 1.08 || 1];
	const px = (v) => LEFT + (v - x0) / (x1 - x0) * wide, py = (v) => TOP + high - (v - y0) / (y1 - y0) * high;
	const valueAt = (at) => x0 + Math.min(Math.max(at - LEFT, 0), wide) / wide * (x1 - x0);
	const nearest = (at) => {
		let low = 0, top = count - 1;
		const v = valueAt(at);
		while (low < top) {
			const middle = (low + top + 1) >> 1;
			if (x[middle] <= v)
				low = middle;
			else
				top = middle - 1;
		}
		return !series[0].steps && low + 1 < count && x[low + 1] - v < v - x[low] ? low + 1 : low;
	};
	const draw = (c) => {
		const dim = colourOf('--dim'), line = colourOf('--line');
		c.font = FONT;
		c.lineWidth = 1;
		const tick = (at, text, isX) => {
			c.fillStyle = line;
			c.fillRect(isX ? Math.round(at) : LEFT, isX ? TOP : Math.round(at), isX ? 1 : wide, isX ? high + 4 : 1);
			c.fillStyle = dim;
			c.textAlign = isX ? 'center' : 'right';
			c.textBaseline = isX ? 'top' : 'middle';
			const half = c.measureText(text).width / 2;
			c.fillText(text, isX ? Math.min(at, LEFT + wide + RIGHT - half) : LEFT - 6, isX ? TOP + high + 6 : at);
		};
		ticksOf(x0, x1, wide / 90, xLeast).forEach((v) => tick(px(v), v + xUnit, true));
		ticksOf(y0, y1, high / 32).forEach((v) => tick(py(v), v + yUnit));
		if (xLabel) {
			c.textAlign = 'center';
			c.textBaseline = 'top';
			c.fillText(xLabel, LEFT + wide / 2, height - 13);
		}
		if (yLabel) {
			c.save();
			c.translate(2, TOP + high / 2);
			c.rotate(-Math.PI / 2);
			c.textAlign = 'center';
			c.textBaseline = 'top';
			c.fillText(yLabel, 0, 0);
			c.restore();
		}
		c.beginPath();
		c.rect(LEFT, 0, wide + RIGHT, TOP + high);
		c.clip();
		if (level) {
			c.strokeStyle = c.fillStyle = dim;
			c.setLineDash([4, 4]);
			c.strokeRect(LEFT, py(level[0]), wide, 0);
			c.setLineDash([]);
			c.textAlign = 'left'; // what rises is low there
			c.textBaseline = 'bottom';
			c.fillText(level[1], LEFT + 4, py(level[0]) - 2);
		}
		series.forEach((s, k) => {
			const y = ys[k], colour = colourOf(s.colour);
			c.beginPath();
			for (let i = 0; i < count; i++) {
				if (s.steps && i)
					c.lineTo(px(x[i]), py(y[i - 1]));
				c.lineTo(px(x[i]), py(y[i]));
			}
			if (s.steps)
				c.lineTo(px(x1), py(y[count - 1]));
			c.strokeStyle = c.fillStyle = colour;
			c.lineWidth = 1.5;
			c.setLineDash(s.dash ? [4, 4] : []);
			c.stroke();
			c.setLineDash([]);
			s.bars?.[0].forEach((low, i) => low < s.bars[1][i] && c.strokeRect(px(x[i]), py(s.bars[1][i]), 0, py(low) - py(s.bars[1][i])));
			for (let i = 0; s.dots && i < count; i++)
				c.fillRect(px(x[i]) - 2.5, py(y[i]) - 2.5, 5, 5);
			if (s.fill) {
				c.lineTo(px(s.steps ? x1 : x[count - 1]), py(y0));
				c.lineTo(px(x[0]), py(y0));
				c.globalAlpha = 0.25;
				c.fill();
				c.globalAlpha = 1;
			}
		});
	};
	const [drag, events] = useDrag({
		onEnd: onSelect && ((a, b) => onSelect(valueAt(Math.min(a, b)), valueAt(Math.max(a, b)))),
		onClick: (at) => onPick?.(nearest(at)),
		onMove: (at, up, e) => setHover(at >= LEFT && at <= LEFT + wide && count ? { i: nearest(at), at: [e.clientX, e.clientY] } : null),
	});
	return <div ref={ref} class="chart" style={{ minHeight: height + 'px', cursor: onPick ? 'pointer' : onSelect ? 'crosshair' : '' }}>
		{width > 0 && count > 0 && <Canvas width={width} height={height} draw={draw} inputs={[data, theme]} label={label} {...events} />}
		{hover && <>
			<div class="cursor" style={{ left: px(x[hover.i]) + 'px', top: TOP + 'px', height: high + 'px' }} />
			{!drag && <Tip at={hover.at}>{tip ? tip(hover.i) : <><div class="dim">{+x[hover.i].toPrecision(5)}{xUnit} {xLabel}</div>{series.map((s, k) => <div key={k}><Swatch colour={s.colour} /> {s.label} {+ys[k][hover.i].toPrecision(3)}{yUnit}</div>)}</>}</Tip>}
		</>}
		{drag && <Chosen drag={drag} low={LEFT} high={LEFT + wide} top={TOP} height={high} />}
	</div>;
}
