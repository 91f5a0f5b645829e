/** Chromium without a window, for the tests of a file. It is ended with them. */
import { source } from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { endWithFile } from './test-scope.ts';

export async function startBrowser(): Promise<Browser> {
  // As root, as CI runs, there is no sandbox; it shows what the test itself serves.
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  endWithFile(() => browser.close());
  return browser;
}

export interface Visit {
  readonly page: Page;
  /** What the browser complained of: scripts that failed, what the policy of the page forbids, what is missing. */
  readonly complaints: readonly string[];
}

/** Opens a page in a new context, at the URL if there is one. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}, url?: string): Promise<Visit> {
  const context = await browser.newContext(options);
  // The limit of the test ends a wait: on a busy machine a component of 12 MB is published in more than 30 s.
  context.setDefaultTimeout(0);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', ({ message }) => complaints.push(message));
  if (url !== undefined) await page.goto(url);
  return { page, complaints };
}

/** What the page does wrong for those who do not see, hear or point as others do; its context lets scripts in. */
export async function accessibilityFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true');
  await page.evaluate(source);
  const found = await page.evaluate('axe.run().then(({ violations }) => violations)');
  const violations = found as readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

/** Opens an action of the page. */
export async function unfold(page: Page, action: string): Promise<void> {
  await page.locator('summary .name', { hasText: new RegExp(`^${action}$`) }).click();
}

/** Resolves when the page with this title is there. */
export async function shows(page: Page, title: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
}
