// The examples with components in docs/http.md show the real answers of a node.
import { expect, it } from 'vitest';
import { HttpClient } from '../support/http-client.ts';
import { BANK_IDS, examplesIn, httpPage, OF_COMPONENTS } from '../support/http-page.ts';
import { startTestServer } from '../support/server.ts';
import { BUILD_MS } from '../support/wasm/built.ts';

it('docs/http.md shows the real answers of a node that runs components', { timeout: BUILD_MS }, async () => {
  await using node = await startTestServer('--guest-executors=1');
  const [part = ''] = OF_COMPONENTS.exec(httpPage()) ?? [];
  const { examples, answered } = await examplesIn(part, new HttpClient(node.http), BANK_IDS);
  expect(examples.length).toBeGreaterThan(15);
  expect(examples).toEqual(answered);
});
