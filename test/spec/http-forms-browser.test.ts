// Goal: pages do without scripts what they offer, by the keyboard alone, and shut nobody out. Method: Chromium with
// scripts off fills in the forms of a real node's pages and follows where they lead; what they did is read from the
// API.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { accessibilityFaults, openPage, startBrowser } from '../support/browser.ts';
import { cloudEvent, jsonOf, uniqueName } from '../support/http-client.ts';
import { startHttpNode } from '../support/http-node.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { tempDir } from '../support/temp-dir.ts';
import { publish } from '../support/toon-node.ts';
import { builtComponent } from '../support/wasm/built.ts';

/** Pages are drawn on a machine with other things to do; a component of 12 MB is built, published and started. */
const BROWSER_MS = 240_000;
const WITHOUT_SCRIPTS = { javaScriptEnabled: false };

const { api, server } = await startHttpNode('--guest-executors=1');
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
  let telling: Uint8Array;
  beforeAll(async () => {
    [browser, telling] = await Promise.all([
      startBrowser(),
      builtComponent('test/support/components/telling-change.ts'),
    ]);
  }, BROWSER_MS);

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

  it('commits from a page that is kept, after it has an id', async () => {
    const own = uniqueName();
    await api.create(own);
    const page = await open(`/db/${own}/0`);
    await unfold(page, 'transact');
    await page.getByLabel('events, in JSON').fill(event('a'));
    await page.getByRole('button', { name: 'transact' }).click();
    await shows(page, 'Not sent yet');
    expect(await api.latestRevision(own)).toBe(0);
    await page.getByRole('button', { name: 'transact' }).click();
    await page.waitForURL(`**/api/v1/db/${own}/transaction/*`);
    expect(await api.latestRevision(own)).toBe(1);
  });

  it('publishes a State Change, tries a command and runs it', async () => {
    const own = uniqueName();
    await api.create(own);
    using dir = tempDir();
    const file = join(dir.path, 'telling.wasm');
    writeFileSync(file, telling);
    const page = await open(`/databases/${own}`);
    await unfold(page, 'publish state change');
    const form = page.locator('details[open]');
    await form.getByLabel('metadata').fill('{"state_change_name":"telling"}');
    await form.getByLabel('wasm').setInputFiles(file);
    await form.getByRole('button', { name: 'publish state change' }).click();
    await page.waitForURL(`**/db/${own}/state-changes/telling/v1`);
    await unfold(page, 'execute command');
    const command = page.locator('details[open]');
    await command.getByLabel('method').fill('POST');
    await command.getByLabel('path').fill('/');
    await command.getByLabel('body, in JSON').fill('["user-agent"]');
    // The return key does what changes nothing.
    await command.getByLabel('path').press('Enter');
    await shows(page, 'Dry run');
    expect(await page.locator('.summary').textContent()).toBe(
      'As of revision 0 1 event would be committed; nothing has been.',
    );
    expect([(await page.content()).includes('Mozilla'), await api.latestRevision(own)]).toEqual([true, 0]);
    await page.getByRole('button', { name: 'execute command' }).click();
    await page.waitForURL(`**/api/v1/db/${own}/transaction/*`);
    expect(await api.latestRevision(own)).toBe(1);
    expect(await page.content()).toContain('Mozilla');
    await page.getByRole('link', { name: 'latest', exact: true }).click();
    await page.waitForURL(`**/db/${own}/1`);
  });

  it('puts a query together, and is told what is wrong with it', async () => {
    const own = uniqueName();
    await api.create(own);
    await api.commit(
      own,
      cloudEvent('a', { subject: 'ada' }),
      cloudEvent('b', { subject: 'bob', type: 'cart.filled' }),
    );
    const page = await open(`/databases/${own}/query-builder`);
    await page.getByLabel('Events of which').selectOption('or');
    await page.getByLabel('attribute').nth(0).selectOption('subject');
    await page.getByLabel('value').nth(0).fill('ada');
    await page.getByLabel('limit').first().fill('none');
    await page.getByRole('button', { name: 'find events' }).click();
    await shows(page, 'That did not work');
    expect(await page.locator('.fault').count()).toBe(1);
    expect(await page.getByLabel('value').nth(0).inputValue()).toBe('ada');
    await page.getByLabel('limit').first().fill('');
    await page.getByLabel('attribute').nth(1).selectOption('eventType');
    await page.getByLabel('operator').nth(1).selectOption('startsWith');
    await page.getByLabel('value').nth(1).fill('cart.');
    await page.getByRole('button', { name: 'find events' }).click();
    await page.waitForURL('**/events?q=*');
    const { pathname, search } = new URL(page.url());
    expect(pathname).toBe(`/db/${own}/1/events`);
    const { events } = jsonOf(await api.get(`${pathname}${search}`)) as { readonly events: readonly unknown[] };
    expect([events.length, await page.locator('tbody tr').count()]).toEqual([2, 2]);
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

  it('has with scripts another id for the next transaction', async () => {
    const own = uniqueName();
    await api.create(own);
    await publish(api, `/api/v1/db/${own}/state-changes`, { state_change_name: 'telling' }, telling);
    const { page, complaints } = await openPage(browser);
    await page.goto(`${url}/databases/${own}`);
    await unfold(page, 'transact');
    const id = page.getByLabel('transaction id');
    const ids = [await id.inputValue()];
    for (const revision of [1, 2]) {
      await page.getByLabel('events, in JSON').fill(event(`e${revision}`));
      await page.getByRole('button', { name: 'transact' }).click();
      await page.getByText(new RegExp(`^200 .*1 event committed, as revision ${revision}\\.`)).waitFor();
      ids.push(await id.inputValue());
    }
    expect(new Set(ids).size).toBe(3);
    await page.goto(`${url}/db/${own}/state-changes/telling/v1`);
    await unfold(page, 'execute command');
    const command = page.locator('details[open]');
    await command.getByLabel('method').fill('POST');
    await command.getByLabel('path').fill('/');
    await command.getByLabel('body, in JSON').fill('["user-agent"]');
    await command.getByRole('button', { name: 'dry run' }).click();
    await command.getByText(/^200 .*1 event would be committed/).waitFor();
    await command.getByRole('button', { name: 'execute command' }).click();
    await command.getByText(/^200 .*1 event committed, as revision 3\./).waitFor();
    expect(complaints).toEqual([]);
  });
});
