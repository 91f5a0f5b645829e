// Pages work in Chromium, with scripts and without, by keyboard, and without violations of axe (TH13). The long files
// test further pages.
import type { Browser, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { accessibilityFaults, openPage, shows, startBrowser, unfold } from '../support/browser.ts';
import { cloudEvent, uniqueName } from '../support/http-client.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';
import { LAST_REVISION, toonDatabase } from '../support/toon-node.ts';

const { api, server } = await sharedHttpNode();
const url = server.http;
const { name } = await toonDatabase(api);

const AT = `/db/${name}/${LAST_REVISION}`;
const KINDS = [
  '/databases',
  `/databases/${name}`,
  `${AT}/events`,
  `${AT}/events/1?index=0`,
  `/db/${name}/state-views/read/v1?revision=6&other_revision=0`,
  `/db/${name}/state-changes/decides/v1`,
  `/databases/${name}/query-builder`,
];

/** Limit of one test that opens all kinds of pages on a busy machine. */
const BROWSER_MS = 240_000;

const event = (id: string): string => JSON.stringify([cloudEvent(id, { data: { n: 1 } })]);

let browser: Browser;
beforeAll(async () => {
  if (!lacksTool('chromium')) browser = await startBrowser();
});

describe.skipIf(lacksTool('chromium'))('SPEC-HTTP-HTML: a browser', { timeout: BROWSER_MS }, () => {
  it('opens all pages without errors, requests to other servers, or violations of axe', async () => {
    const { page, complaints } = await openPage(browser);
    // axe is a script that the Content Security Policy of the page would block.
    const { page: examined } = await openPage(browser, { bypassCSP: true });
    const hosts = new Set<string>();
    page.on('request', (request) => hosts.add(new URL(request.url()).origin));
    for (const path of KINDS) {
      await Promise.all([page.goto(`${url}${path}`, { waitUntil: 'load' }), examined.goto(`${url}${path}`)]);
      expect([path, complaints, await accessibilityFaults(examined)]).toEqual([path, [], []]);
    }
    expect([...hosts]).toEqual([url]);
  });

  it('needs no scripts for links, filters and next pages', async () => {
    const { page } = await openPage(browser, { javaScriptEnabled: false }, `${url}/`);
    await page.getByRole('link', { name, exact: true }).click();
    await page.getByRole('link', { name: 'events', exact: true }).click();
    await unfold(page, 'filter');
    await page.getByLabel('type', { exact: true }).fill('order.placed');
    await page.getByLabel('limit').first().fill('1');
    await page.getByRole('button', { name: 'filter' }).click();
    const { pathname, search } = new URL(page.url());
    expect([pathname.endsWith('/events'), search]).toEqual([true, '?type=order.placed&limit=1']);
    expect(await page.locator('tbody tr').count()).toBe(1);
    await page.getByRole('navigation', { name: 'More of the list' }).getByRole('link', { name: 'next' }).click();
    expect(await page.getByText('order.placed').count()).toBeGreaterThan(0);
  });

  it('moves through the revisions by a slider, with the keyboard', async () => {
    const { page } = await openPage(browser, {}, `${url}${AT}/events`);
    const slider = page.getByRole('slider');
    await slider.waitFor();
    const latest = (await api.get(`/databases/${name}`)).headers.get('x-revision');
    expect([await slider.getAttribute('max'), await slider.inputValue()]).toEqual([latest, String(LAST_REVISION)]);
    await slider.focus();
    await Promise.all([page.waitForURL(`**/db/${name}/0/events`), page.keyboard.press('Home')]);
    expect(await page.locator('.empty').count()).toBe(1);
  });

  it('commits by a form, and shows the answer', async () => {
    const own = await api.created();
    const { page } = await openPage(browser, {}, `${url}/db/${own}/0`);
    await unfold(page, 'transact');
    await page.getByLabel('events, in JSON').fill(event('a'));
    await page.getByRole('button', { name: 'transact' }).click();
    await page.getByText(/^200 .*1 event committed, as revision 1\./).waitFor();
    expect((await api.get(`/databases/${own}`)).headers.get('x-revision')).toBe('1');
    await page.getByLabel('events, in JSON').fill('[]');
    await page.getByRole('button', { name: 'transact' }).click();
    await page.getByText(/^400[^]*at least one event/).waitFor();
    await page.getByLabel('events, in JSON').fill(event('a'));
    await page.getByRole('button', { name: 'transact' }).click();
    await page.getByRole('link', { name: 'what has changed' }).click();
    await page.waitForURL(`**/db/${own}/2?since=1`);
  });
});

describe.skipIf(lacksTool('chromium'))('SPEC-HTTP-FORMS: a browser without scripts', { timeout: BROWSER_MS }, () => {
  const open = async (path: string): Promise<Page> =>
    (await openPage(browser, { javaScriptEnabled: false }, `${url}${path}`)).page;

  it('creates a database, by the keyboard', async () => {
    const own = uniqueName();
    const page = await open('/');
    await page.locator('summary', { hasText: 'create database' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type('No Name');
    await page.keyboard.press('Enter');
    await shows(page, 'That did not work');
    const field = page.getByLabel('database name');
    expect([await field.inputValue(), await field.getAttribute('aria-invalid')]).toEqual(['No Name', 'true']);
    expect(await page.locator('.fault').textContent()).toContain('must be');
    await field.fill(own);
    await field.press('Enter');
    await page.waitForURL(`**/db/${own}/0`);
    await shows(page, own);
  });

  it('says which actions need scripts', async () => {
    const own = await api.created();
    const page = await open(`/databases/${own}`);
    await unfold(page, 'delete database');
    expect(await page.getByRole('button', { name: 'delete database' }).isDisabled()).toBe(true);
    expect(await page.getByText('This button needs scripts').isVisible()).toBe(true);
  });

  it('gets answers to forms without violations of axe', async () => {
    const own = await api.created();
    // axe is a script, so scripts must run. Without the module for requests the browser sends the form itself.
    const { page } = await openPage(browser, { bypassCSP: true });
    await page.route('**/assets/requests-*.js', (route) => route.abort());
    await page.goto(`${url}/db/${own}/0`);
    await unfold(page, 'transact');
    const transact = page.getByRole('button', { name: 'transact' });
    for (const title of ['That did not work', 'Not sent yet']) {
      await page.getByLabel('events, in JSON').fill(title === 'Not sent yet' ? event('a') : '[');
      if (title === 'Not sent yet') await page.getByLabel('transaction id').fill('');
      await transact.click();
      await shows(page, title);
      expect([title, await accessibilityFaults(page)]).toEqual([title, []]);
    }
    await page.goto(`${url}/databases/${own}/query-builder?limit=0&start=x&attribute1=none&value1=a`);
    expect([await page.locator('.fault').count(), await accessibilityFaults(page)]).toEqual([3, []]);
  });
});
