// Every action that a page offers works by a form in Chromium without scripts.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { openPage, shows, startBrowser, unfold } from '../support/browser.ts';
import { cloudEvent, jsonOf } from '../support/http-client.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';
import { tempDir } from '../support/temp-dir.ts';
import { builtComponent } from '../support/wasm/built.ts';

/** Limit of a test that opens pages, and builds, publishes and starts a component of 12 MB, on a busy machine. */
const BROWSER_MS = 240_000;

const { api, server } = await sharedHttpNode();
const url = server.http;
const event = (id: string): string => JSON.stringify([cloudEvent(id, { data: { n: 1 } })]);

describe.skipIf(lacksTool('chromium'))('SPEC-HTTP-FORMS: a browser without scripts', { timeout: BROWSER_MS }, () => {
  let browser: Browser;
  let telling: Uint8Array;
  beforeAll(async () => {
    [browser, telling] = await Promise.all([
      startBrowser(),
      builtComponent('test/support/components/telling-change.ts'),
    ]);
  }, BROWSER_MS);

  const open = async (path: string): Promise<Page> =>
    (await openPage(browser, { javaScriptEnabled: false }, `${url}${path}`)).page;

  it('publishes a State Change, tries a command and runs it', async () => {
    const own = await api.created();
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
    await command.getByLabel('path').press('Enter');
    await shows(page, 'Dry run');
    const seen = await page.locator('.summary').textContent();
    expect(seen).toBe('As of revision 0 1 event would be committed; nothing has been.');
    expect([(await page.content()).includes('Mozilla'), await api.latestRevision(own)]).toEqual([true, 0]);
    await page.getByRole('button', { name: 'execute command' }).click();
    await page.waitForURL(`**/api/v1/db/${own}/transaction/*`);
    expect(await api.latestRevision(own)).toBe(1);
    expect(await page.content()).toContain('Mozilla');
    await page.getByRole('link', { name: 'latest', exact: true }).click();
    await page.waitForURL(`**/db/${own}/1`);
  });

  it('builds a query, and shows its faults', async () => {
    const own = await api.created();
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

  it('uses a new id for the next transaction, with scripts', async () => {
    const own = await api.created();
    await api.publish(`${own}/state-changes`, { state_change_name: 'telling' }, telling);
    const { page, complaints } = await openPage(browser, {}, `${url}/databases/${own}`);
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
