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

class Charts {
	constructor(element, table, onPick) {
		this.element = element;
		this.table = table;
		this.charts = [];
		const time = table.columns[table.names.indexOf("time")];
		if (!time || table.rows === 0)
			return;
		this.time = time;
		table.names.forEach((name, i) => {
			const column = table.columns[i];
			if (!SILENT_COLUMNS.test(name) && column.some((value) => Number.isFinite(value)) && column.some((value) => value !== column[0]))
				this.addChart(name, column, onPick);
		});
	}

	addChart(name, column, onPick) {
		const figure = document.createElement("div"), line = document.createElement("div"), canvas = document.createElement("canvas");
		const label = document.createElement("span"), value = document.createElement("b");
		figure.className = "chart";
		line.className = "name";
		label.textContent = name;
		line.append(label, value);
		figure.append(line, canvas);
		this.element.append(figure);
		let most = -Infinity, least = 0;
		for (const v of column) {
			if (v > most) most = v;
			if (v < least) least = v;
		}
		this.charts.push({ canvas, value, column, most, least });
		const pick = (event) => {
			const box = canvas.getBoundingClientRect(), part = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
			onPick(this.time[0] + part * (this.time[this.time.length - 1] - this.time[0]));
		};
		canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); pick(event); });
		canvas.addEventListener("pointermove", (event) => event.buttons & 1 && pick(event));
	}

	/** The last row that is not behind a time. */
	row(time) {
		let low = 0, high = this.time.length - 1;
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (this.time[middle] <= time + 1e-9)
				low = middle;
			else
				high = middle - 1;
		}
		return low;
	}

	draw(time) {
		if (!this.charts.length || !this.element.clientHeight)
			return;
		const style = getComputedStyle(document.documentElement), accent = style.getPropertyValue("--accent"), soft = style.getPropertyValue("--soft");
		const row = this.row(time), ratio = window.devicePixelRatio || 1;
		for (const chart of this.charts) {
			const { canvas, column } = chart, w = canvas.width = canvas.clientWidth * ratio, h = canvas.height = canvas.clientHeight * ratio;
			const context = canvas.getContext("2d"), span = chart.most - chart.least || 1, n = column.length;
			const y = (v) => h - 2 - (h - 4) * (v - chart.least) / span;
			context.lineWidth = 1.2 * ratio;
			context.strokeStyle = accent;
			context.beginPath();
			for (let i = 0, begun = false; i < n; i++) {
				if (!Number.isFinite(column[i]))
					continue;
				const x = n > 1 ? w * i / (n - 1) : 0;
				if (begun)
					context.lineTo(x, y(column[i]));
				else
					context.moveTo(x, y(column[i]));
				begun = true;
			}
			context.stroke();
			const x = n > 1 ? w * row / (n - 1) : 0;
			context.strokeStyle = soft;
			context.beginPath();
			context.moveTo(x, 0);
			context.lineTo(x, h);
			context.stroke();
			chart.value.textContent = tell(column[row]);
		}
	}
}

/** Events: { time, text }, by time. What begins (a column rises from 0), and where a column is highest. */
function findEvents(table, scene, poseFrames) {
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
					events.push({ time: time[row], text: `${name} begins`, weight: 1 });
			}
			if (peaks.test(name) && column[highest] > 0)
				events.push({ time: time[highest], text: `${name} is highest: ${tell(column[highest])}`, weight: 2 });
		});
	}
	// Of a column that goes on and off all the time the first few beginnings say enough.
	const counts = new Map();
	const kept = events.filter((event) => {
		const n = (counts.get(event.text) || 0) + 1;
		counts.set(event.text, n);
		return n <= 12;
	});
	for (const event of poseFrames)
		kept.push(event);
	return kept.sort((a, b) => a.time - b.time);
}
