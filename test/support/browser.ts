/** Starts headless Chromium for the tests of a file, and checks its pages. */
import { source } from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { endWithFile } from './test-scope.ts';

export async function startBrowser(): Promise<Browser> {
  // CI runs as root, where Chromium has no sandbox; it only shows pages of the tests.
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  endWithFile(() => browser.close());
  return browser;
}

export interface Visit {
  readonly page: Page;
  /** Errors of the browser: failed scripts, violations of the page's policy, and missing files. */
  readonly complaints: readonly string[];
}

/** Opens a page in a new context, and navigates to the URL if there is one. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}, url?: string): Promise<Visit> {
  const context = await browser.newContext(options);
  // Only the timeout of the test ends a wait: on a busy machine, publishing a component of 12 MB takes more than 30 s.
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

/** Accessibility violations of the page; its context must allow scripts. */
export async function accessibilityFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true');
  await page.evaluate(source);
  const found = await page.evaluate('axe.run().then(({ violations }) => violations)');
  const violations = found as readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

/** Expands an action of the page. */
export async function unfold(page: Page, action: string): Promise<void> {
  await page.locator('summary .name', { hasText: new RegExp(`^${action}$`) }).click();
}

/** Resolves when the page with this title is shown. */
export async function shows(page: Page, title: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
}
