// node shown.mjs FOLDER CAROM SCENE BROWSER...: pages of carom export in FOLDER (viewer.mjs) and a run of SCENE that is shown while it
// goes on (live.mjs), by each browser. To start one costs up to ten seconds of a processor: each is started once.
import { startBrowser } from './browser.mjs';
import { lookAtRun } from './live.mjs';
import { lookAtPages } from './viewer.mjs';

const [folder, carom, scene, ...programs] = process.argv.slice(2);
for (const program of programs) {
	const browser = await startBrowser(program, 480, 320);
	try {
		await lookAtPages(browser, folder, program !== programs[0]);
		await lookAtRun(browser, carom, scene);
		console.log(`${program} shows pages, and a run while it goes on`);
	} finally {
		await browser.close();
	}
}
