// Reading the page's data: blocks (base64 of zlib), and tracks of whole numbers (web/track.h says how they are packed).

/** What goes wrong with the page itself, in words for its reader. */
class PageError extends Error {}

const ABSENT = -2147483648;

/** The blocks of the second recording of a page, as if they were those of a page. The library is there once. */
class SecondPage {
	constructor(page) {
		const name = (block) => block === "carom-wasm" ? block : `second-${block}`;
		this.page = page;
		this.blocks = { has: (block) => page.blocks.has(name(block)), get: (block) => page.blocks.get(name(block)) };
	}

	get ended() { return this.page.ended; }
	get read() { return this.page.read; }
	get wake() { return this.page.wake; }
}

/** Wait until a block has arrived. Rejects when the page has ended without it. */
function whenBlock(page, name) {
	return new Promise((resolve, reject) => {
		const look = () => {
			if (page.blocks.has(name))
				resolve(page.blocks.get(name));
			else if (page.ended)
				reject(new PageError(`This page is damaged: its block “${name}” is missing.`));
			else if (page.read)
				reject(new PageError("This page was cut off: its end is missing. Export it again, or copy it again."));
			else
				page.wake.push(look);
		};
		look();
	});
}

/** The bytes of base64 text. */
function fromBase64(text) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(text);
	const binary = atob(text);
	const bytes = new Uint8Array(binary.length);
	for (let i = 0; i < binary.length; i++)
		bytes[i] = binary.charCodeAt(i);
	return bytes;
}

/** Inflate zlib bytes; the result must have `size` bytes. */
async function inflate(bytes, size) {
	const stream = new DecompressionStream("deflate");
	const writer = stream.writable.getWriter();
	writer.write(bytes).catch(() => {}); // the reader gets the failure
	writer.close().catch(() => {});
	const out = new Uint8Array(size);
	const reader = stream.readable.getReader();
	let at = 0;
	for (;;) {
		const { done, value } = await reader.read();
		if (done)
			break;
		if (at + value.length > size)
			throw new Error("too long");
		out.set(value, at);
		at += value.length;
	}
	if (at !== size)
		throw new Error("too short");
	return out;
}

/** The bytes of a block. The text of the block is kept: a block of a track may be wanted again. */
async function readBlock(page, name) {
	const block = await whenBlock(page, name);
	try {
		return await inflate(fromBase64(block.text), block.size);
	} catch (reason) {
		throw new PageError(`This page is damaged: its block “${name}” cannot be unpacked (${reason.message}).`);
	}
}

/** A block as an array of numbers. */
async function readNumbers(page, name, Type) {
	const bytes = await readBlock(page, name);
	if (bytes.length % Type.BYTES_PER_ELEMENT)
		throw new PageError(`This page is damaged: its block “${name}” has a wrong size.`);
	return new Type(bytes.buffer, 0, bytes.length / Type.BYTES_PER_ELEMENT);
}

/** Unpack a block of a track: { frames, count, values: Int32Array [frames*count] }. */
function unpack(bytes) {
	if (bytes.length < 16)
		throw new Error("a block without a head");
	const head = new DataView(bytes.buffer, bytes.byteOffset, 16);
	const frames = head.getUint32(0, true), count = head.getUint32(4, true);
	const stride = head.getUint32(8, true), order = head.getUint32(12, true);
	const plane = frames * count;
	if (bytes.length !== 16 + 4 * plane || order < 1 || order > 2 || stride < 1)
		throw new Error("a block with a wrong head");
	const values = new Int32Array(plane);
	const a = bytes.subarray(16, 16 + plane), b = bytes.subarray(16 + plane, 16 + 2 * plane);
	const c = bytes.subarray(16 + 2 * plane, 16 + 3 * plane), d = bytes.subarray(16 + 3 * plane);
	for (let i = 0; i < plane; i++) {
		const z = (a[i] | b[i] << 8 | c[i] << 16 | d[i] << 24) >>> 0;
		const difference = (z >>> 1) ^ -(z & 1);
		let foretold = 0;
		if (i < count)
			foretold = i >= stride ? values[i - stride] : 0;
		else if (order === 2 && i >= 2 * count)
			foretold = (2 * values[i - count] - values[i - 2 * count]) | 0;
		else
			foretold = values[i - count];
		values[i] = (foretold + difference) | 0;
	}
	return { frames, count, values };
}

/** The number of the last of some rising times that is not behind a time; 0 when all are. */
function lastUpTo(times, time) {
	let low = 0, high = times.length - 1;
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (times[middle] <= time + 1e-9)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/** A track: frames are there after a while. */
class Track {
	constructor(page, name, info, times) {
		this.page = page;
		this.name = name;
		this.info = info;
		this.times = times;
		this.frames = info.frames;
		this.perBlock = info.frames_per_block;
		this.blocks = new Map(); // number -> values, the one used last is at the end
		this.pending = new Map();
		this.broken = new Set(); // numbers of blocks that cannot be unpacked
		this.most = Math.max(4, Math.floor(5e7 / Math.max(1, info.count * this.perBlock))); // blocks that are kept
	}

	/** Unpack a block unless it is there. Resolves to its values. */
	load(number) {
		if (this.blocks.has(number))
			return Promise.resolve(this.blocks.get(number));
		if (!this.pending.has(number))
			this.pending.set(number, this.unpackBlock(number).catch((reason) => {
				this.broken.add(number);
				throw reason;
			}).finally(() => this.pending.delete(number)));
		return this.pending.get(number);
	}

	async unpackBlock(number) {
		const name = `${this.name}-${number}`;
		const bytes = await readBlock(this.page, name);
		let block;
		try {
			block = unpack(bytes);
		} catch (reason) {
			throw new PageError(`This page is damaged: its block “${name}” is ${reason.message}.`);
		}
		if (block.count !== this.info.count)
			throw new PageError(`This page is damaged: its block “${name}” has a wrong size.`);
		this.blocks.set(number, block.values);
		while (this.blocks.size > this.most)
			this.blocks.delete(this.blocks.keys().next().value);
		return block.values;
	}

	/** The numbers of a frame, or null when its block is not there yet. */
	frame(index) {
		const number = Math.floor(index / this.perBlock);
		const values = this.blocks.get(number);
		if (!values)
			return null;
		this.blocks.delete(number);
		this.blocks.set(number, values);
		const first = (index - number * this.perBlock) * this.info.count;
		return values.subarray(first, first + this.info.count);
	}

	/** Resolves when a frame is there. */
	async ready(index) {
		await this.load(Math.floor(index / this.perBlock));
		return this.frame(index);
	}

	/** The last frame that is not behind a time. */
	at(time) { return lastUpTo(this.times, time); }
}

/** A table: names of its columns, and an array of numbers (NaN where a field is empty) for each. */
function readTable(text) {
	const lines = text.split("\n").filter((line) => line !== "");
	const names = (lines.shift() || "").split(",");
	const columns = names.map(() => new Float64Array(lines.length).fill(NaN));
	lines.forEach((line, row) => {
		line.split(",").forEach((field, i) => {
			if (i < names.length && field !== "")
				columns[i][row] = Number(field);
		});
	});
	return { names, columns, rows: lines.length };
}
