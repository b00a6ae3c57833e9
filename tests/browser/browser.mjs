// A headless browser for tests, Chromium or Firefox: open() and evaluate() and the rest are alike for both (firefox.mjs).
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

export const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Whatever a browser does takes less, however busy the machine is; only a browser that hangs meets it.
const PATIENCE = 120000;

/** A promise that must be kept within our patience. */
export function within(promise, what, ms = PATIENCE) {
	let timer;
	const late = new Promise((resolve, reject) => { timer = setTimeout(() => reject(new Error(`${what}: not within ${ms} ms`)), ms); });
	return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Asks until the answer is true, and returns it. */
export async function until(ask, what, ms = PATIENCE) {
	for (const end = Date.now() + ms; Date.now() < end; await wait(40)) {
		const answer = await ask();
		if (answer)
			return answer;
	}
	throw new Error(`${what}: not within ${ms} ms`);
}

/** Waits until a process has ended, and kills one that does not end. */
export async function ended(child) {
	const end = child.exitCode !== null || child.signalCode !== null ? Promise.resolve() : new Promise((resolve) => child.once('exit', resolve));
	await within(end, 'the end of a process').catch(() => child.kill('SIGKILL'));
	await end;
}

/** The browser that `program` is; pages are `width` x `height`. */
export async function startBrowser(program, width, height) {
	if (!basename(program).startsWith('firefox'))
		return new Chromium(program, width, height);
	const { Firefox } = await import('./firefox.mjs');
	return new Firefox(program, width, height);
}

/**
 * What both have: a process (child) with a folder of its own, calls by number, errors and requests of the page. A browser adds send(), open(),
 * evaluate(), key(), mouse(), screenshot() and leave().
 */
export class Page {
	constructor(width, height) {
		this.folder = mkdtempSync(join(tmpdir(), 'carom-browser-'));
		this.size = { width, height };
		this.number = 0;
		this.calls = new Map();
		this.errors = [];
		this.requests = [];
	}

	call(method, params = {}) {
		const id = ++this.number;
		return new Promise((resolve, reject) => {
			this.calls.set(id, { resolve, reject });
			this.send(id, method, params);
		});
	}

	answer(id, error, result) {
		const call = this.calls.get(id);
		this.calls.delete(id);
		if (error)
			call?.reject(error);
		else
			call?.resolve(result);
	}

	/** No answer comes any more. */
	forget() {
		for (const { reject } of this.calls.values())
			reject(new Error('the browser has ended'));
		this.calls.clear();
	}

	/** What the page asked for beside `own`, a beginning of addresses. */
	foreign(own) {
		return this.requests.filter((url) => ![own, 'blob:', 'data:'].some((begin) => url.startsWith(begin)));
	}

	/** Wait until an expression is true. */
	async until(expression, what, ms = PATIENCE) {
		await until(() => this.evaluate(expression).catch(() => false), what, ms).catch((reason) => {
			throw new Error(`${reason.message}; errors: ${this.errors.join('; ')}`);
		});
	}

	/** Wait until the page has drawn so many frames more. */
	async frames(count) {
		await this.evaluate(`new Promise((done) => { let left = ${count}; const next = () => left-- > 0 ? requestAnimationFrame(next) : done(true); next(); })`);
	}

	/** The browser is asked to end. It has ended when this returns. */
	async close() {
		if (!this.leave())
			this.child?.kill('SIGKILL');
		if (this.child?.pid)
			await ended(this.child);
		rmSync(this.folder, { recursive: true, force: true, maxRetries: 20 });
	}
}

/** Driven through two pipes (--remote-debugging-pipe): no package of npm is needed. */
class Chromium extends Page {
	/** The software renderer draws WebGL. */
	constructor(program, width, height) {
		super(width, height);
		this.child = spawn(program, ['--headless=new', '--no-sandbox', '--disable-gpu-sandbox', '--use-gl=angle', '--use-angle=swiftshader',
			'--enable-unsafe-swiftshader', '--disable-dev-shm-usage', '--hide-scrollbars', '--no-first-run', '--disable-extensions',
			'--disable-background-networking', '--disable-component-update', '--disable-sync', '--password-store=basic',
			`--user-data-dir=${this.folder}`, `--window-size=${width},${height}`, '--remote-debugging-pipe', 'about:blank'],
		{ stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
		let rest = Buffer.alloc(0);
		this.child.stdio[4].on('data', (data) => {
			rest = Buffer.concat([rest, data]);
			for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0)) {
				this.take(JSON.parse(rest.subarray(0, end).toString()));
				rest = rest.subarray(end + 1);
			}
		});
		this.child.stdio[3].on('error', () => {});
		this.child.on('exit', () => this.forget());
	}

	take(message) {
		if (message.id !== undefined) {
			this.answer(message.id, message.error && new Error(message.error.message), message.result);
		} else if (message.method === 'Runtime.exceptionThrown') {
			this.errors.push(message.params.exceptionDetails.exception?.description || message.params.exceptionDetails.text);
		} else if (message.method === 'Runtime.consoleAPICalled' && message.params.type === 'error') {
			this.errors.push(message.params.args.map((arg) => arg.value ?? arg.description).join(' '));
		} else if (message.method === 'Log.entryAdded' && message.params.entry.level === 'error') {
			this.errors.push(message.params.entry.text);
		} else if (message.method === 'Network.requestWillBeSent') {
			this.requests.push(message.params.request.url);
		}
	}

	send(id, method, params) {
		this.child.stdio[3].write(JSON.stringify({ id, method, params, sessionId: this.session }) + '\0');
	}

	async open(url, { dark = false, phone = false } = {}) {
		if (!this.session) {
			const page = await until(async () => (await this.call('Target.getTargets')).targetInfos.find((target) => target.type === 'page'), 'the first page');
			this.session = (await this.call('Target.attachToTarget', { targetId: page.targetId, flatten: true })).sessionId;
			for (const domain of ['Page', 'Runtime', 'Log', 'Network'])
				await this.call(`${domain}.enable`);
		}
		const { width, height } = phone ? { width: 390, height: 780 } : this.size;
		await this.call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: phone ? 2 : 1, mobile: phone });
		await this.call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }] });
		this.errors = [];
		this.requests = [];
		await this.call('Page.navigate', { url });
	}

	/** The value of an expression in the page; promises are waited for. */
	async evaluate(expression) {
		const { result, exceptionDetails } = await this.call('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
		if (exceptionDetails)
			throw new Error(exceptionDetails.exception?.description || exceptionDetails.text);
		return result.value;
	}

	async key(key) {
		const text = key.length === 1 ? key : undefined;
		await this.call('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', key, text });
		await this.call('Input.dispatchKeyEvent', { type: 'keyUp', key });
	}

	async mouse(type, x, y, more = {}) {
		await this.call('Input.dispatchMouseEvent', { type, x, y, button: 'left', buttons: type === 'mouseReleased' ? 0 : 1, clickCount: 1, ...more });
	}

	/** A PNG of the page, as a buffer. */
	async screenshot() {
		return Buffer.from((await this.call('Page.captureScreenshot', { format: 'png' })).data, 'base64');
	}

	leave() {
		this.call('Browser.close').catch(() => {});
		return true;
	}
}
