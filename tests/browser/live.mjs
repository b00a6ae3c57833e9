// A run that does not end by itself, in a headless browser: the page follows it, goes back and ahead again, shows contacts and charts,
// and stays when the run is interrupted.
import { spawn } from 'node:child_process';
import assert from 'node:assert/strict';

const state = 'document.documentElement.dataset', hidden = (id) => `document.getElementById('${id}').hidden`;

/** Lets a process work for a fifth of the time: the browser then need not draw as many frames as can be computed. Returns what ends that. */
function slow(child) {
	let ticks = 0;
	const timer = setInterval(() => child.kill(++ticks % 5 ? 'SIGSTOP' : 'SIGCONT'), 20);
	return () => {
		clearInterval(timer);
		child.kill('SIGCONT');
	};
}

async function follow(browser, run) {
	let words = '';
	const address = await new Promise((resolve, reject) => {
		run.stderr.on('data', (data) => {
			words += data;
			const found = words.match(/^carom: view: (http:\/\/127\.0\.0\.1:\d+\/)$/m);
			if (found)
				resolve(found[1]);
		});
		run.on('exit', () => reject(new Error(`the run has ended: ${words}`)));
	});
	const ended = new Promise((resolve) => run.on('exit', resolve));
	for (let tries = 0; ; tries++) { // until the run has made its bodies
		await browser.open(address);
		await browser.until(`document.readyState === 'complete'`, 'the page');
		if (await browser.evaluate(`document.getElementById('view') !== null`))
			break;
		assert.ok(tries < 100, 'the page does not come');
	}
	await browser.until(`['ready', 'error'].includes(${state}.state)`, 'the page');
	assert.equal(await browser.evaluate(`${state}.state`), 'ready');
	assert.match(await browser.evaluate(`document.getElementById('about').textContent`), /2 moving bodies · 32 deforming triangles · 50 spheres · .* frames · step /);

	// It follows.
	const hasten = slow(run);
	run.on('exit', hasten);
	await browser.until(`+${state}.frames > 3`, 'frames come');
	const before = await browser.evaluate('caromViewer.live.frames[caromViewer.master.at(caromViewer.time)].step');
	await browser.until(`caromViewer.live.frames[caromViewer.master.at(caromViewer.time)].step > ${before} && caromViewer.following`, 'the newest frame is shown');

	// Back by hand: it stays there while frames come.
	await browser.key('Home');
	await browser.until(`${state}.frame === '0' && !caromViewer.following && !caromViewer.dirty`, 'the first frame');
	const frames = await browser.evaluate('caromViewer.master.frames');
	await browser.until(`caromViewer.master.frames > ${frames + 2}`, 'frames come meanwhile');
	assert.equal(await browser.evaluate(`${state}.frame`), '0');
	assert.equal(await browser.evaluate(hidden('live')), false);
	await browser.evaluate(`document.getElementById('live').click()`);
	await browser.until(`caromViewer.following && +${state}.frame > 0`, 'following again');
	await browser.key(' ');
	assert.equal(await browser.evaluate('caromViewer.following'), false);
	await browser.key(' ');
	await browser.until('caromViewer.following || caromViewer.playing', 'going on');

	// Contacts of the run, and charts of its table.
	await browser.key('4');
	await browser.until(`+${state}.contacts > 0`, 'contacts');
	await browser.evaluate(`document.getElementById('show-charts').click()`);
	await browser.until(`document.querySelectorAll('.chart').length > 3`, 'charts');
	await browser.until(`/\\d/.test(document.querySelector('.chart b').textContent)`, 'a value in a chart');

	// The page drops each second frame when it holds too much, and goes on.
	await browser.key('Home');
	await browser.evaluate('caromViewer.live.thin(); caromViewer.takeFrames(true)');
	assert.deepEqual(await browser.evaluate('[caromViewer.live.times.length === caromViewer.live.frames.length, caromViewer.live.frames[0].step]'), [true, 0]);
	await browser.key('End');
	await browser.until('caromViewer.following && !caromViewer.dirty', 'the end after thinning');

	// The run ends: its page stays, and plays.
	hasten();
	run.kill('SIGINT');
	await browser.until(`['ended', 'lost'].includes(${state}.live)`, 'the end');
	const lost = await browser.evaluate(`${state}.live === 'lost'`); // it had no processor for five seconds
	if (!lost)
		assert.match(await browser.evaluate('document.getElementById("message").textContent'), /^The run was interrupted, after \d+ of 100000000 steps\.$/);
	assert.equal(await ended, 1);
	assert.equal(await browser.evaluate(hidden('live')), true);
	await browser.key('Home');
	await browser.key(' ');
	await browser.until(`+${state}.frame > 0 && caromViewer.playing`, 'playing what came');
	assert.deepEqual(browser.errors.filter((text) => !lost || !/ERR_CONNECTION_REFUSED/.test(text)), []);
	assert.deepEqual(browser.foreign(address), []);
}

export async function lookAtRun(browser, carom, scene) {
	browser.size = { width: 300, height: 220 }; // the processor draws each pixel of many frames
	const run = spawn('nice', ['-n', '5', carom, 'run', scene, '--view', '--threads', '1'], { stdio: ['ignore', 'ignore', 'pipe'] });
	try {
		await follow(browser, run);
	} finally {
		run.kill('SIGKILL');
	}
}
