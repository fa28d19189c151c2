// uPlot in our colours.
import { h } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { colourOf, useSize } from './parts.jsx';

// series: [{ label, colour (a custom property), fill, steps }], data: uPlot's [x, y...].
export function Chart({ data, series, xLabel, yLabel, height = 150, yRange, xRange, onSelect, theme, label, xTime }) {
	const ref = useRef();
	const [width] = useSize(ref);
	useEffect(() => {
		if (!width || !data[0].length)
			return undefined;
		const text = colourOf('--dim'), line = colourOf('--line');
		const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 }, font: '11px system-ui, sans-serif', labelFont: '11px system-ui, sans-serif', labelSize: 16 };
		const plot = new uPlot({
			width, height,
			legend: { show: false },
			padding: [8, 8, 0, 0],
			cursor: { y: false, drag: { x: !!onSelect, y: false, setScale: false } },
			scales: { x: { time: false, ...(xRange ? { range: xRange } : {}) }, y: { range: yRange ?? ((_, lo, hi) => [0, hi > 0 ? hi * 1.08 : 1]) } },
			axes: [{ ...axis, label: xLabel, size: 30, values: xTime && ((_, ticks) => ticks.map((t) => `${+t.toFixed(6)} s`)) }, { ...axis, label: yLabel, size: 46 }],
			series: [{}, ...series.map((s) => ({
				label: s.label, stroke: colourOf(s.colour), width: 1.5, points: { show: false },
				fill: s.fill ? colourOf(s.colour) + '40' : undefined,
				paths: s.steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
			}))],
			hooks: {
				setSelect: [(u) => {
					if (onSelect && u.select.width > 3)
						onSelect(u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x'));
				}],
			},
		}, data, ref.current);
		return () => plot.destroy();
	}, [width, height, data, theme]);
	return <div ref={ref} class="chart" role="img" aria-label={label} style={{ minHeight: height + 'px' }} />;
}
