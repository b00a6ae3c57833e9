// A run that goes on: frames come from the command that runs it (web/server.h says how), and are kept here for as long as the page is open.

const LIVE_BYTES = 4e8; // of frames; beyond it each second one is dropped
const RECORD_HEAD = 16;

/** A track of such a run: all tracks have the frames of the run. */
class LiveTrack {
	constructor(live, name, info) {
		Object.assign(this, { live, name, info, perBlock: 1, broken: new Set(), blocks: { has: () => true }, kept: new Map() });
	}

	get frames() { return this.live.frames.length; }
	get times() { return this.live.times; }

	frame(index) {
		const frame = this.live.frames[index];
		let values = this.kept.get(frame);
		if (!values) {
			values = unpack(frame.blocks.get(this.name)).values;
			if (values.length !== this.info.count)
				throw new PageError(`Frame ${frame.number} has a wrong size.`);
			this.kept.set(frame, values);
			if (this.kept.size > 4)
				this.kept.delete(this.kept.keys().next().value);
		}
		return values;
	}

	async load(index) { return this.frame(index); }
	async ready(index) { return this.frame(index); }
	at(time) { return lastUpTo(this.times, time); }
}

class LiveRun {
	/** onFrames(thinned): new frames are there; onEnd(text, lost): there will be none. */
	constructor(head, onFrames, onEnd) {
		Object.assign(this, { head, onFrames, onEnd, frames: [], times: [], last: 0, bytes: 0, captured: 0 });
	}

	track(name, info) { return new LiveTrack(this, name, info); }

	/** Ask for frames until the run ends. Resolves at the first ones. */
	async begin() {
		while (!this.frames.length && !this.ended)
			await this.ask();
		if (!this.frames.length)
			throw new PageError(this.how || "The run ended before its first frame.");
		this.goOn();
	}

	async goOn() {
		let failures = 0;
		while (!this.ended) {
			try {
				await this.ask();
				failures = 0;
			} catch (reason) {
				if (++failures === 3)
					this.end("The run is gone, or cannot be reached. What came from it can be looked at.", true);
				await new Promise((resolve) => setTimeout(resolve, 300));
			}
		}
	}

	async ask() {
		const answer = await fetch(`frames?after=${this.last}`, { cache: "no-store" });
		if (!answer.ok)
			throw new PageError(`The run answers with ${answer.status}.`);
		this.take(new Uint8Array(await answer.arrayBuffer()));
	}

	end(how, lost) {
		this.ended = true;
		this.how = how;
		this.onEnd(how, lost);
	}

	take(bytes) {
		const view = new DataView(bytes.buffer);
		let came = false, how = null;
		for (let at = 0; at + RECORD_HEAD <= bytes.length;) {
			const [kind, number, size, captured] = [0, 4, 8, 12].map((i) => view.getUint32(at + i, true));
			const body = bytes.subarray(at + RECORD_HEAD, at + RECORD_HEAD + size);
			at += RECORD_HEAD + size;
			this.captured = captured;
			if (kind === 2) {
				how = new TextDecoder().decode(body);
				continue;
			}
			this.addFrame(number, body);
			came = true;
		}
		const thinned = this.bytes > LIVE_BYTES;
		while (this.bytes > LIVE_BYTES && this.frames.length > 2)
			this.thin();
		if (came)
			this.onFrames(thinned);
		if (how !== null)
			this.end(how, false);
	}

	addFrame(number, bytes) {
		const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true), facts = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
		const blocks = new Map();
		let at = 4 + length;
		for (const [name, size] of facts.blocks) {
			blocks.set(name, bytes.slice(at, at + size));
			at += size;
		}
		this.last = number;
		this.bytes += bytes.length;
		this.frames.push({ number, step: facts.step, time: facts.time, row: facts.row, blocks, size: bytes.length });
		this.times.push(facts.time);
	}

	/** Drop each second frame, never the first and the last. */
	thin() {
		this.frames = this.frames.filter((frame, i) => i % 2 === 0 || i === this.frames.length - 1);
		this.times = this.frames.map((frame) => frame.time);
		this.bytes = this.frames.reduce((sum, frame) => sum + frame.size, 0);
	}

	/** The table of the steps that are here, as text. */
	get table() { return this.head.columns + this.frames.map((frame) => frame.row).join(""); }
}
