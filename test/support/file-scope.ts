// Files share a process, so each leaves nothing running there: it would take memory and time from all that come after
// it, and connections of theirs would be counted by nodes of its own.
import { channel } from 'node:diagnostics_channel';
import { afterAll, vi } from 'vitest';
import { takeCosts } from './costs.ts';
import { endFile, nodes } from './test-scope.ts';

/** Whether a node runs that no files share; one without `startTestServer` is known by the connections it watches. */
const hasNode = (): boolean =>
  nodes.shared === 0 ? channel('net.server.socket').hasSubscribers : nodes.running > nodes.shared;

// A file that fails while it is loaded runs none of its hooks, and leaves the clock that it faked to the next one.
vi.useRealTimers();

const hadNode = hasNode();

// Hooks run the latest first, so this one is behind those of the file.
// oxlint-disable-next-line no-empty-pattern -- the first argument is that of fixtures, and there are none.
afterAll(async ({}, file) => {
  await endFile();
  file.meta.costs = takeCosts();
  if (!hadNode && hasNode()) throw new Error('The file leaves a node running: have it end by `endWithFile`');
});
