// Each kind of page passes axe in Chromium, in light and dark (TH13). The slider, forms and the live tail work.
import type { Browser } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { accessibilityFaults, openPage, startBrowser, unfold } from '../support/browser.ts';
import { cloudEvent } from '../support/http-client.ts';
import { startHttpNode } from '../support/http-node.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { LAST_REVISION, TRANSACTION_ID, toonDatabase } from '../support/toon-node.ts';

const { api, server } = await startHttpNode('--guest-executors=1', '--peer-port=0');
const url = server.http;
const { name } = await toonDatabase(api);

const AT = `/db/${name}/${LAST_REVISION}`;
const KINDS = [
  '/',
  '/databases',
  '/health/detailed',
  '/health/detailed?cluster=true',
  AT,
  `/databases/${name}`,
  `${AT}/events`,
  `${AT}/events/1?index=0`,
  `${AT}/event-types`,
  `${AT}/event-types/order.placed`,
  `${AT}/streams`,
  `${AT}/streams/carts`,
  `${AT}/subjects`,
  `/databases/${name}/events`,
  `/databases/${name}/state-changes`,
  `/db/${name}/presenters/shows/v1`,
  `/db/${name}/state-views/one/v1`,
  `/db/${name}/state-views/timed/v1`,
  `/databases/${name}/state-views`,
  `/db/${name}/state-views/all/v1`,
  `/api/v1/db/${name}/presenters`,
  `/api/v1/db/${name}/transaction/${TRANSACTION_ID}`,
  `/db/${name}/0/events`,
  `${AT}?since=1`,
  `/db/${name}/state-views/read/v1?revision=6&other_revision=0`,
  `/db/${name}/state-changes/decides/v1`,
  `/databases/${name}/query-builder`,
  '/api/v1/docs',
  '/nowhere',
];

/** Limit of one test that opens all kinds of pages on a busy machine. */
const BROWSER_MS = 240_000;

function hide(isHidden: boolean): string {
  return `Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} });
    document.dispatchEvent(new Event('visibilitychange'))`;
}

describe.skipIf(lacksTool('chromium'))('SPEC-HTTP-HTML: a browser', { timeout: BROWSER_MS }, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });

  it.each(['light', 'dark'] as const)('finds no violations of axe, in %s', async (colorScheme) => {
    // axe is a script that the Content Security Policy of the page would block.
    const { page } = await openPage(browser, { colorScheme, bypassCSP: true });
    for (const path of KINDS) {
      await page.goto(`${url}${path}`);
      expect([path, await accessibilityFaults(page)]).toEqual([path, []]);
    }
  });

  it('reports no error, and sends no request to other servers', async () => {
    const { page, complaints } = await openPage(browser);
    const hosts = new Set<string>();
    page.on('request', (request) => hosts.add(new URL(request.url()).origin));
    for (const path of KINDS.filter((each) => each !== '/nowhere')) {
      await page.goto(`${url}${path}`, { waitUntil: 'networkidle' });
      expect([path, complaints]).toEqual([path, []]);
    }
    expect([...hosts]).toEqual([url]);
  });

  it('opens the revision of the slider after a pause in key presses, and keeps the focus', async () => {
    const { page } = await openPage(browser);
    const at = LAST_REVISION - 3;
    const visited: string[] = [];
    await page.goto(`${url}${AT}/events`);
    page.on('framenavigated', (frame) => visited.push(new URL(frame.url()).pathname));
    const slider = page.getByRole('slider');
    await slider.focus();
    for (let key = 0; key < 3; key++) await page.keyboard.press('ArrowLeft');
    await page.waitForURL(`**/db/${name}/${at}/events`);
    await page.locator('input[type="range"]:focus').waitFor();
    await page.evaluate('globalThis.setTimeout = () => 1');
    await page.keyboard.press('ArrowLeft');
    await Promise.all([page.waitForURL(`**/db/${name}/${at - 1}/events`), page.keyboard.press('Enter')]);
    expect(visited).toEqual([at, at - 1].map((revision) => `/db/${name}/${revision}/events`));
    await page.locator('input[type="range"]:focus').waitFor();
    await page.reload();
    await slider.waitFor();
    expect(await page.locator('input[type="range"]:focus').count()).toBe(0);
  });

  it('opens the revision of the slider at once after a click, and when the focus leaves', async () => {
    const { page } = await openPage(browser, {}, `${url}${AT}/events`);
    const slider = page.getByRole('slider');
    await slider.focus();
    await page.evaluate('globalThis.setTimeout = () => 1');
    await page.keyboard.press('ArrowLeft');
    await Promise.all([page.waitForURL(`**/db/${name}/${LAST_REVISION - 1}/events`), page.keyboard.press('Tab')]);
    await slider.click({ position: { x: 1, y: 5 } });
    await page.waitForURL(`**/db/${name}/0/events`);
    await slider.waitFor();
    expect(await page.locator('input[type="range"]:focus').count()).toBe(0);
  });

  it('shows no link to a later revision on the latest one', async () => {
    const own = await api.created();
    const { page } = await openPage(browser);
    const later = page.locator('a[rel="next"]');
    await page.goto(`${url}/db/${own}/0`);
    await later.waitFor({ state: 'detached' });
    await api.commit(own, cloudEvent('a'));
    await page.reload({ waitUntil: 'networkidle' });
    expect(await later.getAttribute('href')).toBe(`/db/${own}/1`);
    await later.click();
    await later.waitFor({ state: 'detached' });
    expect(await page.locator('a[rel="prev"]').count()).toBe(1);
  });

  it('shows changes, and differences of states, without scripts', async () => {
    const { page } = await openPage(browser, { javaScriptEnabled: false }, `${url}${AT}`);
    await unfold(page, 'compare revisions');
    await page.getByLabel('since').fill('2');
    await page.getByRole('button', { name: 'compare revisions' }).click();
    expect(new URL(page.url()).search).toBe('?since=2');
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Changes since revision 2');
    await page.goto(`${url}/db/${name}/state-views/read/v1`);
    await page.getByRole('link', { name: 'look at state' }).click();
    expect(await page.locator('dt:text-is("state") + dd').textContent()).toContain('"placed"');
    await page.goto(`${url}/db/${name}/state-views/read/v1`);
    await unfold(page, 'show state');
    await page.getByLabel('revision', { exact: true }).fill('6');
    await page.getByLabel('other revision').fill('0');
    await page.getByRole('button', { name: 'show state' }).click();
    expect(await page.locator('ins').count()).toBeGreaterThan(0);
  });

  it('moves the slider no further back than the earlier of two revisions', async () => {
    const { page } = await openPage(browser, {}, `${url}${AT}?since=2`);
    const slider = page.getByRole('slider');
    await slider.focus();
    await Promise.all([page.waitForURL(`**/db/${name}/2?since=2`), page.keyboard.press('Home')]);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Changes since revision 2');
  });

  it('tries a command, and then runs it', async () => {
    const { page } = await openPage(browser);
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push(new URL(request.url()).search);
    });
    await page.goto(`${url}/db/${name}/state-changes/decides/v1`);
    await unfold(page, 'run command');
    const form = page.locator('details', { hasText: 'has the component decide' });
    await form.getByRole('button', { name: 'dry run' }).click();
    await form.getByText(/^200 .*0 events would be committed; nothing has been/).waitFor();
    await form.getByRole('button', { name: 'run command' }).click();
    await form.getByText(/^200 [^]*\n  "revision": /).waitFor();
    expect(sent).toEqual(['?dry_run=true', '']);
    await form.getByLabel('x-batch-id').fill('no UUID');
    await form.getByLabel('x-batch-id').press('Enter');
    await form.getByText(/^200 .*0 events would be committed/).waitFor();
    expect(sent.at(-1)).toBe('?dry_run=true');
    // The answer has numbers that JavaScript cannot represent (TH5).
    const [contentType, body] = ['application/json', '{"n":9007199254740993,"price":19.90}'];
    await page.route('**/state-changes/**', (route) => route.fulfill({ contentType, body }));
    await form.getByRole('button', { name: 'run command' }).click();
    const shown = form.locator('pre', { hasText: '"n"' });
    await shown.waitFor();
    expect(await shown.textContent()).toBe('{\n  "n": 9007199254740993,\n  "price": 19.90\n}');
  });

  it('shows new events, and stops while it is paused or hidden', async () => {
    const own = await api.created();
    await api.commit(own, cloudEvent('first', { type: 'a' }));
    const { page, complaints } = await openPage(browser);
    let asked = 0;
    page.on('request', (request) => {
      if (request.method() === 'HEAD') asked++;
    });
    await page.goto(`${url}/db/${own}/1/events?type=a`);
    const tail = page.getByRole('region', { name: 'New events', exact: true });
    await tail.getByRole('button', { name: 'follow' }).press('Enter');
    await tail.getByText('latest revision is 1').waitFor();
    await api.commit(own, cloudEvent('other', { type: 'b' }));
    // The event has numbers that JavaScript cannot represent (TH5).
    const second = JSON.stringify(cloudEvent('second', { type: 'a', subject: '<b>ada</b>', data: 'DATA' }));
    const data = '{"n":9007199254740993,"price":19.90}';
    await api.post(`/databases/${own}/events`, `{"events":[${second.replace('"DATA"', data)}]}`);
    await tail.getByText('1 events came, the latest revision is 3').waitFor();
    expect(await tail.locator('tbody tr').allTextContents()).toEqual([expect.stringContaining(`3a<b>ada</b>${data}`)]);
    await tail.getByRole('button', { name: 'pause' }).click();
    await tail.getByText('Paused at revision 3').waitFor();
    await api.commit(own, cloudEvent('third', { type: 'a' }));
    const whilePaused = asked;
    await page.waitForTimeout(1500);
    expect([asked, await tail.locator('tbody tr').count()]).toEqual([whilePaused, 1]);
    await tail.getByRole('button', { name: 'follow' }).click();
    await tail.getByText('latest revision is 4').waitFor();
    await page.evaluate(hide(true));
    const whileHidden = asked;
    await api.commit(own, ...Array.from({ length: 150 }, (_, at) => cloudEvent(`many${at}`, { type: 'a' })));
    await page.waitForTimeout(1500);
    expect(asked - whileHidden).toBeLessThan(2);
    await page.evaluate(hide(false));
    await tail.getByText('latest revision is 5').waitFor();
    await tail.getByRole('link', { name: 'more events came meanwhile' }).waitFor();
    for (let round = 0; round < 3; round++) {
      await api.commit(own, ...Array.from({ length: 100 }, (_, at) => cloudEvent(`${round}.${at}`, { type: 'a' })));
      await tail.getByText(`latest revision is ${6 + round}`).waitFor();
    }
    expect(await tail.locator('tbody tr').count()).toBe(200);
    expect(complaints).toEqual([]);
    await api.delete(`/databases/${own}`);
    await tail.getByText('The database was deleted').waitFor();
  });

  it('shows the OpenAPI document in Swagger UI', async () => {
    const { page, complaints } = await openPage(browser, {}, `${url}/api/v1/swagger-ui`);
    await page.getByText('lists the names of databases').waitFor();
    expect(complaints).toEqual([]);
  });

  it('shows a JSON fault at the field, as without scripts', async () => {
    const { page } = await openPage(browser, {}, `${url}/db/${name}/state-changes/decides/v1`);
    await unfold(page, 'execute command');
    const form = page.locator('form[action$="/execute"]');
    const body = form.getByLabel('body, in JSON');
    await form.getByLabel('method').fill('POST');
    for (const [text, fault] of [
      ['{nope', 'body must be JSON: line 1, column 2: expected a member name in quotes; found "nope"'],
      // This text would add a member to the JSON around it.
      [
        '{"cents":9},"path":"/x"',
        'body must be JSON: line 1, column 12: expected the end of the text; found ",\\"path\\":\\"/x\\""',
      ],
    ] as const) {
      await body.fill(text);
      await form.getByRole('button', { name: 'execute command' }).click();
      await form.locator('.fault').getByText(fault, { exact: true }).waitFor();
      await form.getByText('400 Bad Request The request failed: ').waitFor();
      const described = await body.getAttribute('aria-describedby');
      const told = [await form.locator('.fault').count(), await body.getAttribute('aria-invalid'), described];
      expect(told).toEqual([1, 'true', 'execute_command-body-fault execute_command-body-what']);
      expect(await page.locator('textarea:focus').inputValue()).toBe(text);
    }
    await body.fill('{"cents":9}');
    await form.getByRole('button', { name: 'execute command' }).click();
    await form.getByText(/^[245]\d\d [^]*\{/).waitFor();
    expect([await form.locator('.fault').count(), await body.getAttribute('aria-invalid')]).toEqual([0, 'false']);
  });

  it('deletes a database only after a confirmation', async () => {
    const own = await api.created();
    const { page } = await openPage(browser, {}, `${url}/db/${own}/0`);
    await unfold(page, 'delete database');
    const button = page.getByRole('button', { name: 'delete database' });
    page.once('dialog', (dialog) => void dialog.dismiss());
    await button.click();
    expect((await api.get(`/databases/${own}`)).status).toBe(200);
    page.once('dialog', (dialog) => void dialog.accept());
    await button.click();
    await page.getByText(/^204/).waitFor();
    expect((await api.get(`/databases/${own}`)).status).toBe(404);
  });
});
