// Cleanup after each test file. Test files share a process, so a file must leave nothing running: leftovers would use
// memory and time of later files, and nodes would count their connections.
import { channel } from 'node:diagnostics_channel';
import { afterAll, vi } from 'vitest';
import { takeCosts } from './costs.ts';
import { endFile, nodes } from './test-scope.ts';

/**
 * True when a node runs that files do not share. Without `startTestServer`, a node is detected by its subscription to
 * connections.
 */
const hasNode = (): boolean =>
  nodes.shared === 0 ? channel('net.server.socket').hasSubscribers : nodes.running > nodes.shared;

// A file that fails while loading runs none of its hooks and may leave a fake clock.
vi.useRealTimers();

const hadNode = hasNode();

/** Listeners that are added to one emitter again and again, and never removed. */
const leaks: Error[] = [];
const keepLeak = (warning: Error): void => {
  if (warning.name === 'MaxListenersExceededWarning') leaks.push(warning);
};
process.on('warning', keepLeak);

// Hooks run in reverse order, so this one runs after those of the file.
// oxlint-disable-next-line no-empty-pattern -- the first argument is that of fixtures, and there are none.
afterAll(async ({}, file) => {
  await endFile();
  process.off('warning', keepLeak);
  file.meta.costs = takeCosts();
  if (!hadNode && hasNode()) throw new Error('The file leaves a node running: have it end by `endWithFile`');
  if (leaks.length > 0) throw new AggregateError(leaks, 'Code that the file runs adds listeners without end');
});
