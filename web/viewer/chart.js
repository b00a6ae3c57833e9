// Charts of the columns of stats.csv, with a cursor at the time that is shown, and the events that can be jumped to.

/** Columns that say nothing about the motion. */
const SILENT_COLUMNS = /^(step|time|threads)$|_step$/;

/** A number for a reader: few digits. */
function tell(value) {
	if (!Number.isFinite(value))
		return "–";
	if (Number.isInteger(value) && Math.abs(value) < 1e7)
		return value.toLocaleString("en");
	return Math.abs(value) >= 1e-3 && Math.abs(value) < 1e5 ? String(+value.toPrecision(4)) : value.toExponential(2);
}

/** The columns of one table or of two, over each other; times need not be the same. */
class Charts {
	constructor(element, onPick) {
		this.element = element;
		this.onPick = onPick;
		this.charts = new Map(); // name -> { canvas, values, series }
	}

	/** Show tables, instead of those before: each with the name of a colour of the style sheet. */
	setTables(tables) {
		const names = new Set(tables.flatMap(({ table }) => table.names));
		this.begin = Infinity;
		this.end = -Infinity;
		for (const chart of this.charts.values())
			chart.series = [];
		for (const { table } of tables) {
			const time = table.columns[table.names.indexOf("time")];
			if (time && table.rows) {
				this.begin = Math.min(this.begin, time[0]);
				this.end = Math.max(this.end, time[table.rows - 1]);
			}
		}
		for (const name of names) {
			if (SILENT_COLUMNS.test(name))
				continue;
			const series = tables.map(({ table, color }) => ({ time: table.columns[table.names.indexOf("time")], column: table.columns[table.names.indexOf(name)], color })).filter(({ time, column }) => time && column);
			const first = series.length && series[0].column[0];
			if (series.some(({ column }) => column.some((value) => Number.isFinite(value) && value !== first)))
				this.setSeries(name, series);
		}
	}

	setSeries(name, series) {
		if (!this.charts.has(name))
			this.charts.set(name, this.makeChart(name, series));
		const chart = this.charts.get(name);
		chart.series = series;
		chart.most = -Infinity;
		chart.least = 0;
		for (const { column } of series) {
			for (const v of column) {
				if (v > chart.most) chart.most = v;
				if (v < chart.least) chart.least = v;
			}
		}
	}

	makeChart(name, series) {
		const figure = makeElement("div", "", this.element), line = makeElement("div", "", figure);
		figure.className = "chart";
		line.className = "name";
		makeElement("span", name, line);
		const values = series.map(({ color }) => {
			const value = makeElement("b", "", line);
			if (series.length > 1)
				value.style.color = `var(${color})`;
			return value;
		});
		const canvas = makeElement("canvas", "", figure);
		const pick = (event) => {
			const box = canvas.getBoundingClientRect(), part = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
			this.onPick(this.begin + part * (this.end - this.begin));
		};
		canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); pick(event); });
		canvas.addEventListener("pointermove", (event) => event.buttons & 1 && pick(event));
		return { canvas, values };
	}

	draw(time) {
		if (!this.charts.size || !this.element.clientHeight)
			return;
		const style = getComputedStyle(document.documentElement), ratio = window.devicePixelRatio || 1;
		for (const chart of this.charts.values()) {
			const { canvas } = chart, w = canvas.width = canvas.clientWidth * ratio, h = canvas.height = canvas.clientHeight * ratio;
			const context = canvas.getContext("2d"), span = chart.most - chart.least || 1;
			const x = (t) => this.end > this.begin ? w * (t - this.begin) / (this.end - this.begin) : 0, y = (v) => h - 2 - (h - 4) * (v - chart.least) / span;
			context.lineWidth = 1.2 * ratio;
			chart.series.forEach((series, i) => {
				this.drawLine(context, series, x, y, style.getPropertyValue(series.color));
				chart.values[i].textContent = tell(series.column[lastUpTo(series.time, time)]);
			});
			context.strokeStyle = style.getPropertyValue("--soft");
			context.beginPath();
			context.moveTo(x(time), 0);
			context.lineTo(x(time), h);
			context.stroke();
		}
	}

	drawLine(context, { time, column }, x, y, color) {
		context.strokeStyle = color;
		context.beginPath();
		for (let i = 0, begun = false; i < column.length; i++) {
			if (!Number.isFinite(column[i]))
				continue;
			if (begun)
				context.lineTo(x(time[i]), y(column[i]));
			else
				context.moveTo(x(time[i]), y(column[i]));
			begun = true;
		}
		context.stroke();
	}
}

/** Columns that are times and memory of the machine, which may differ in equal runs. */
const MACHINE_COLUMNS = /(^|_)(ms|memory|scratch)(_|$)/;

/** The row of the first difference of two tables' columns: a number of a row, or -1. Steps that one of them lacks do not count. */
function firstDifference(first, second, name) {
	const [a, b] = [first, second].map((table) => table.columns[table.names.indexOf(name)]);
	for (let row = 0; row < Math.min(a.length, b.length); row++) {
		if (!Object.is(a[row], b[row]))
			return row;
	}
	return -1;
}

/** Where two tables differ, by time: { time, text }. First columns, each from where on it differs, then events of one of them, or at another time. */
function findDifferences(first, second, events) {
	const found = [], time = first.columns[first.names.indexOf("time")];
	for (const name of first.names) {
		if (SILENT_COLUMNS.test(name) || MACHINE_COLUMNS.test(name) || !second.names.includes(name))
			continue;
		const row = firstDifference(first, second, name);
		if (row >= 0) {
			const [a, b] = [first, second].map((table) => tell(table.columns[table.names.indexOf(name)][row]));
			found.push({ time: time[row], text: a === b ? `${name} differs, in its last digits` : `${name} differs: ${a}, ${b}` });
		}
	}
	// Of what happens several times, the first one.
	const [a, b] = events.map((list) => new Map(list.slice().reverse().map((event) => [event.what, event])));
	for (const [what, event] of a) {
		const other = b.get(what);
		if (!other)
			found.push({ time: event.time, text: `${what}: in the first alone` });
		else if (other.time !== event.time)
			found.push({ time: Math.min(event.time, other.time), text: `${what}: at ${tell(event.time)} s, ${tell(other.time)} s` });
	}
	for (const [what, event] of b) {
		if (!a.has(what))
			found.push({ time: event.time, text: `${what}: in the second alone` });
	}
	return found.sort((x, y) => x.time - y.time);
}

/** Events: { time, text }, by time. What begins (a column rises from 0), and where a column is highest. */
function findEvents(table) {
	const events = [], time = table && table.columns[table.names.indexOf("time")];
	const begins = /contacts$|impacts$|undecided$|halvings$|zones$|list_built$|pairs$/, peaks = /kinetic_energy$|penetration|contacts$|impacts$|overlap|stretch_worst$/;
	if (time && table.rows) {
		table.names.forEach((name, i) => {
			const column = table.columns[i];
			let highest = 0;
			for (let row = 0; row < table.rows; row++) {
				if (column[row] > column[highest] || !(column[highest] === column[highest]))
					highest = row;
				if (begins.test(name) && column[row] > 0 && (row === 0 || column[row - 1] === 0))
					events.push({ time: time[row], what: `${name} begins`, text: `${name} begins`, weight: 1 });
			}
			if (peaks.test(name) && column[highest] > 0)
				events.push({ time: time[highest], what: `${name} is highest`, text: `${name} is highest: ${tell(column[highest])}`, weight: 2 });
		});
	}
	// Of a column that goes on and off all the time the first few beginnings say enough.
	const counts = new Map();
	const kept = events.filter((event) => {
		const n = (counts.get(event.text) || 0) + 1;
		counts.set(event.text, n);
		return n <= 12;
	});
	return kept.sort((a, b) => a.time - b.time);
}
