// Goal: docs/http.md names every route, and its examples show the real replies. The long file tests the examples with
// components. Method: the requests of the page are sent in order to a new server whose clock is stopped, and the
// replies are compared. UPDATE=1 writes the replies into the page.
import { expect, it } from 'vitest';
import { ROUTES } from '../../src/transport/http/routes.ts';
import { examplesIn, httpPage, OF_COMPONENTS, SHOWN_IDS } from '../support/http-page.ts';
import { startHttpWorld } from '../support/http-world.ts';

it('docs/http.md names every route', () => {
  const page = httpPage();
  const missing = ROUTES.filter(({ method, path }) => !page.includes(`\`${method} ${path}\``));
  expect(missing.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
});

it('docs/http.md shows the real answers of the server', async () => {
  await using world = await startHttpWorld({ nowMs: Date.UTC(2026, 0, 31, 12), holdsWaits: false });
  const { examples, answered } = await examplesIn(httpPage().replace(OF_COMPONENTS, ''), world.client, SHOWN_IDS);
  expect(examples.length).toBeGreaterThan(40);
  expect(examples).toEqual(answered);
});
