// The HTML page in a real browser: what it shows, by keyboard too, in both themes and at a phone's width; that a hostile
// report stays text; and that ten thousand findings open and can be searched.
//
// usage: node page_test.js NPM_FOLDER CHROMIUM REPORTS_FOLDER [PICTURES_FOLDER]
// REPORTS_FOLDER holds report.html, hostile_*.html and many.html; pictures are taken into the last folder.
'use strict';
const assert = require('assert');
const fs = require('fs');
const path = require('path');
const [npm, chromium, reports, pictures] = process.argv.slice(2).map(one => (/[/]/.test(one) ? path.resolve(one) : one));
const modules = path.join(npm, 'node_modules');
const playwright = require(path.join(modules, 'playwright-core'));
const axe = fs.readFileSync(path.join(modules, 'axe-core', 'axe.min.js'), 'utf8');

async function open(browser, name, options = {}) {
  const context = await browser.newContext({viewport: {width: 1280, height: 900}, ...options});
  const page = await context.newPage();
  const problems = [];
  page.on('console', message => { if (message.type() === 'error') problems.push(message.text()); });
  page.on('pageerror', error => problems.push(String(error)));
  page.on('request', request => { if (!/^(file|data):/.test(request.url())) problems.push('network: ' + request.url()); });
  page.on('dialog', dialog => { problems.push('dialog'); dialog.dismiss(); });
  const started = process.hrtime.bigint();
  await page.goto('file://' + path.join(reports, name));
  await page.waitForSelector('body[data-ready]');
  page.opened = Number(process.hrtime.bigint() - started) / 1e6;
  page.problems = problems;
  return page;
}

async function accessible(page, name) {
  // axe runs in the page's main world by the debugger, which the page's own policy does not bind.
  await page.evaluate(axe);
  const result = await page.evaluate(() => window.axe.run(document, {resultTypes: ['violations']}));
  const serious = result.violations.filter(v => ['serious', 'critical'].includes(v.impact));
  assert.deepStrictEqual(serious.map(v => [v.id, v.nodes[0].target, v.nodes[0].failureSummary]), [], name + ': axe-core');
}

const picture = (page, name) => pictures && page.screenshot({path: path.join(pictures, name + '.png'), fullPage: true});

async function whatItShows(browser) {
  for (const [name, options] of [['desktop', {colorScheme: 'light'}], ['dark', {colorScheme: 'dark'}], ['phone', {viewport: {width: 390, height: 844}, colorScheme: 'light'}]]) {
    const page = await open(browser, 'report.html', options);
    for (const details of await page.$$('.finding')) await details.evaluate(node => { node.open = true; });
    await page.click('text=The same as a table');
    await page.click('#flametools >> text=by count');
    await page.waitForTimeout(400);
    await picture(page, name);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), name + ' scrolls sideways');
    await accessible(page, name);
    assert.deepStrictEqual(page.problems, [], name);
    await page.context().close();
  }
  const page = await open(browser, 'report.html');
  assert.match(await page.textContent('h1'), /errors in echo/);
  assert.strictEqual(await page.locator('.finding').count(), 12);  // the suppressed one is hidden
  assert.match(await page.textContent('.rule'), /make_qp/);
  assert.match(await page.textContent('#tree'), /^pd #2.*qp #7/s);
  assert.ok(await page.locator('#time rect.blocked').count() > 0, 'a get that has not returned is a bar');
  assert.ok(await page.locator('#time rect.life').count() > 0, 'lifetimes are bars');
  assert.ok(await page.locator('#flamechart g.frame').count() > 2, 'there is a flame graph');
  await page.click('#filters >> text=suppressed');
  assert.strictEqual(await page.locator('.finding').count(), 13);
  await page.fill('#search', 'double');
  await page.waitForFunction(() => document.querySelectorAll('.finding').length === 1);
  await page.fill('#search', 'no such word');
  await page.waitForFunction(() => document.querySelectorAll('.finding').length === 0);
  assert.match(await page.textContent('#matches'), /0 findings of 13/);
  await page.click('#theme');
  await page.click('#theme');
  assert.strictEqual(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  await page.context().close();
}

async function byKeyboard(browser) {
  const page = await open(browser, 'report.html');
  const focused = what => page.evaluate(selector => document.activeElement.matches(selector), what);
  await page.keyboard.press('Tab');
  assert.ok(await focused('.skip'), 'the first stop skips to the findings');
  await page.keyboard.press('Enter');
  assert.ok(await focused('#findings'));
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  assert.ok(await focused('.finding > summary'), 'j goes to a finding');
  const opened = () => page.evaluate(() => document.activeElement.parentElement.open);
  const before = await opened();
  await page.keyboard.press('Enter');
  assert.strictEqual(await opened(), !before);
  await page.keyboard.press('/');
  assert.ok(await focused('#search'));
  await page.keyboard.type('qp');
  await page.waitForFunction(() => /shown/.test(document.getElementById('matches').textContent));
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.getElementById('matches').textContent === '');
  await page.focus('#time svg');
  const axis = () => page.textContent('#time svg');
  const all = await axis();
  await page.keyboard.press('+');
  assert.notStrictEqual(await axis(), all, 'plus zooms the timeline');
  await page.keyboard.press('0');
  assert.strictEqual(await axis(), all);
  await page.waitForSelector('#flamechart g.frame[tabindex]');
  await page.focus('#flamechart g.frame:nth-of-type(2)');
  assert.notStrictEqual((await page.textContent('#flamedetail')).trim(), '');
  // Every stop can be seen: the tab order leads through the page and ends.
  let stops = 0;
  await page.focus('.skip');
  for (; stops < 400; ++stops) {
    await page.keyboard.press('Tab');
    if (await page.evaluate(() => document.activeElement === document.body)) break;
  }
  assert.ok(stops > 20 && stops < 400, `${stops} stops`);
  await page.context().close();
}

async function hostile(browser) {
  for (const name of fs.readdirSync(reports).filter(file => /^hostile_.*\.html$/.test(file))) {
    const page = await open(browser, name);
    for (const details of await page.$$('details')) await details.evaluate(node => { node.open = true; });
    await page.waitForTimeout(50);
    assert.strictEqual(await page.evaluate(() => window.pwned), undefined, name + ' ran a script');
    assert.strictEqual(await page.locator('img, iframe, object, embed, [onerror], [onfocus], [onload]').count(), 0, name);
    assert.strictEqual(await page.locator('script').count(), 3, name);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('body *')]
      .filter(node => node.getBoundingClientRect().right > innerWidth + 1 && !node.closest('.scroll, .src, pre, svg')).map(node => node.tagName + '.' + node.className).slice(0, 8));
    assert.deepStrictEqual(wide, [], name + ' scrolls sideways');
    assert.deepStrictEqual(page.problems, [], name);
    await page.context().close();
  }
  // The policy itself: a script that came in all the same would not run.
  const page = await open(browser, 'report.html');
  await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'window.pwned = 1';
    document.body.append(script);
    const image = document.createElement('img');
    image.setAttribute('onerror', 'window.pwned = 2');
    image.src = 'x';
    document.body.append(image);
  });
  await page.waitForTimeout(400);
  assert.strictEqual(await page.evaluate(() => window.pwned), undefined, 'the policy lets scripts in');
  await page.context().close();
}

async function many(browser) {
  const page = await open(browser, 'many.html');
  assert.strictEqual(await page.evaluate(() => JSON.parse(document.getElementById('data').textContent).findings.length), 10000);
  const search = async (words, n) => {
    const started = process.hrtime.bigint();
    await page.fill('#search', words);
    await page.waitForFunction(text => document.getElementById('matches').textContent.startsWith(text), n);
    return Number(process.hrtime.bigint() - started) / 1e6;
  };
  const searched = await search('7777)', '1 finding of');
  const stacks = await search('make_qp_699 qp.c', '9 findings of');
  const elements = await page.evaluate(() => document.querySelectorAll('*').length);
  assert.ok(elements < 5000, `${elements} elements: not all findings are drawn at once`);
  await page.fill('#search', '');
  await page.waitForFunction(() => document.getElementById('matches').textContent === '');
  await page.click('text=/Show \\d+ of .* more/');
  assert.ok(await page.locator('.finding').count() > 200);
  console.log(`10,000 findings: open in ${page.opened.toFixed(0)} ms, searched in ${searched.toFixed(0)} and ${stacks.toFixed(0)} ms (90 of them waiting), ${elements} elements`);
  assert.deepStrictEqual(page.problems, []);
  await page.context().close();
}

(async () => {
  const browser = await playwright.chromium.launch({executablePath: chromium, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']});
  try {
    for (const test of [whatItShows, byKeyboard, hostile, many]) {
      await test(browser);
      console.log('passed: ' + test.name);
    }
  } finally {
    await browser.close();
  }
})().catch(error => { console.error(error); process.exit(1); });
