/**
 * Sends random requests to real nodes, and compares each answer with that of the reference model.
 *
 *   npm run test:model                                 10,000 requests
 *   npm run test:model -- --requests 1000000 --seed 2  so many, by that seed
 *
 * Exits with 1 at the first wrong answer, and when a node logs an error.
 */
import { readNumber, readOptions } from '../../scripts/support/command-line.ts';
import { startNodes } from './nodes.ts';
import { Fault, type Figures, runModel } from './run.ts';

const { requests, seed } = readOptions({ requests: '10000', seed: '1' });
const plan = {
  requests: readNumber('requests', requests, { min: 1, isWhole: true }),
  seed: readNumber('seed', seed, { min: 0, isWhole: true }),
};

let isOver = false;
// A node of this process may end it.
process.on('exit', () => {
  if (!isOver)
    say(`the process ends before the run is over; again: npm run test:model -- --seed ${seed} --requests ${requests}`);
});

await using nodes = await startNodes();
const startedMs = performance.now();
try {
  report(await runModel(nodes, plan));
} catch (error) {
  if (!(error instanceof Fault)) throw error;
  say(error.message);
  process.exitCode = 1;
}
isOver = true;

function report({ requests: count, operations, refusals, eventsRead }: Figures): void {
  const seconds = (performance.now() - startedMs) / 1000;
  const [done, refused] = [operations, refusals].map((counts) =>
    [...counts].toSorted(([left], [right]) => (left < right ? -1 : 1)),
  );
  say(
    `seed ${plan.seed}: ${count} requests in ${seconds.toFixed(1)} s (${Math.round(count / seconds)} a second), ${eventsRead} events read`,
  );
  for (const [name, times] of done ?? []) say(`${String(times).padStart(8)}  ${name}`);
  say('refused:');
  for (const [name, times] of refused ?? []) say(`${String(times).padStart(8)}  ${name}`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
