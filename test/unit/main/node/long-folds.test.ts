// Goal: a node reads the events of long folds in a thread, with the same answers, and stops with it. Method: a node
// with some thousand events, a component that counts them, and the names of threads.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ExampleNode } from '../../../support/example-node.ts';
import { countingText } from '../../../support/wasm/counting.ts';
import { wat } from '../../../support/wasm/wat.ts';

const [TRANSACTIONS, EVENTS] = [8, 500];

function nameOf(thread: string): string | undefined {
  try {
    return readFileSync(`/proc/self/task/${thread}/comm`, 'utf8').trim();
  } catch {
    return undefined; // it ended after the folder was read
  }
}

/** The threads of this process that read batches, by their ids: other files' nodes may have some of their own. */
function readers(): Set<string> {
  return new Set(readdirSync('/proc/self/task').filter((thread) => nameOf(thread) === 'batches'));
}

it('reads what long folds need in a thread, which ends with the node', { timeout: 120_000 }, async () => {
  const component = await wat(countingText({ hasBatch: true }));
  const [earlier, counts]: [Set<string>, number[]] = [readers(), []];
  let own: string[] = [];
  {
    await using node = await ExampleNode.start('long', '--guest-executors=1');
    for (let at = 0; at < TRANSACTIONS; at++) {
      const ids = Array.from({ length: EVENTS }, (_, n) => `e-${at}-${n}`);
      await node.commit(...ids.map((id) => ({ id, source: '/long', type: 'happened', data: { id } })));
    }
    for (const state_view_name of ['one', 'two', 'three']) {
      const view = { content_type: 'text/plain', query_temporality: 'revision', event_selector: { stream: 'long' } };
      await node.publish('state-views', { ...view, state_view_name }, component);
      const answer = await node.get(`/api/v1/db/long/${TRANSACTIONS}/state-views/${state_view_name}/v1`);
      counts.push(Number(new DataView(await answer.arrayBuffer()).getBigUint64(0, true)));
      own = [...readers()].filter((thread) => !earlier.has(thread));
    }
  }
  expect(counts).toEqual(counts.map(() => TRANSACTIONS * EVENTS));
  const after = readers();
  expect([own.length, own.some((thread) => after.has(thread))]).toEqual([1, false]);
});
