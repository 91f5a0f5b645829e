// Goal: pages do without scripts what they offer, by the keyboard alone, and shut nobody out. Method: Chromium with
// scripts off fills in the forms of a real node's pages and follows where they lead; what they did is read from the
// API.
import type { Browser, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { accessibilityFaults, openPage, startBrowser } from '../support/browser.ts';
import { cloudEvent, uniqueName } from '../support/http-client.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

/** Pages are drawn on a machine with other things to do. */
const BROWSER_MS = 240_000;
const WITHOUT_SCRIPTS = { javaScriptEnabled: false };

const { api, server } = await sharedHttpNode();
const url = server.http;
const event = (id: string): string => JSON.stringify([cloudEvent(id, { data: { n: 1 } })]);

/** Resolves when the page with this title is there. */
const shows = (page: Page, title: string): Promise<void> =>
  page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();

async function unfold(page: Page, action: string): Promise<void> {
  await page.locator('summary .name', { hasText: new RegExp(`^${action}$`) }).click();
}

describe.skipIf(lacksTool('chromium'))('SPEC-HTTP-FORMS: a browser without scripts', { timeout: BROWSER_MS }, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });

  const open = async (path: string): Promise<Page> => {
    const { page } = await openPage(browser, WITHOUT_SCRIPTS);
    await page.goto(`${url}${path}`);
    return page;
  };

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

  it('commits a transaction once, and follows what has come of it', async () => {
    const own = uniqueName();
    await api.create(own);
    const page = await open(`/databases/${own}`);
    await unfold(page, 'transact');
    await page.getByLabel('events, in JSON').fill('[');
    await page.getByRole('button', { name: 'transact' }).click();
    await shows(page, 'That did not work');
    expect(await page.locator('.fault').textContent()).toContain('events must be JSON');
    await page.getByLabel('events, in JSON').fill(event('a'));
    await page.getByLabel('commit message').fill('by hand');
    await page.getByRole('button', { name: 'transact' }).click();
    await page.waitForURL(`**/api/v1/db/${own}/transaction/*`);
    expect(await page.getByText('by hand').count()).toBeGreaterThan(0);
    // Loaded again it is only read; sent again from where it was, it says that it was sent.
    await page.reload();
    await page.goBack();
    await page.getByLabel('events, in JSON').fill(event('b'));
    await page.getByRole('button', { name: 'transact' }).click();
    await shows(page, 'Sent before');
    expect(await api.latestRevision(own)).toBe(1);
    await page.getByRole('button', { name: 'transact' }).click();
    await page.waitForURL(`**/api/v1/db/${own}/transaction/*`);
    expect(await api.latestRevision(own)).toBe(2);
  });

  it('says of what it cannot do that it cannot', async () => {
    const own = uniqueName();
    await api.create(own);
    const page = await open(`/databases/${own}`);
    await unfold(page, 'delete database');
    expect(await page.getByRole('button', { name: 'delete database' }).isDisabled()).toBe(true);
    expect(await page.getByText('This button needs scripts').isVisible()).toBe(true);
  });

  it('shuts nobody out by what it answers to forms', async () => {
    const own = uniqueName();
    await api.create(own);
    // The engine that looks is a script: only what the module would send is sent by the form itself.
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
