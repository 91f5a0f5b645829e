/**
 * The command `npm run test:model`: sends random requests to real nodes and compares each answer with that of the
 * reference model.
 *
 *   npm run test:model                                 10,000 requests
 *   npm run test:model -- --requests 1000000 --seed 2  number of requests, and seed
 *   npm run test:model -- --kills 100                  with three processes, which are killed one after the other
 *   npm run test:model -- --bytes 10000                conversations of raw bytes with each port of a node
 *
 * It exits with 1 at the first wrong answer, and when a node logs an error.
 */
import { readNumber, readOptions } from '../../scripts/support/command-line.ts';
import { startNodes, startRecordedNodes } from './in-process.ts';
import { startProcesses } from './processes.ts';
import { Fault, type Figures, runBytes, runModel } from './run.ts';

const options = readOptions({ requests: '10000', seed: '1', kills: '0', bytes: '0' });
const [requests, seed, kills, bytes] = (['requests', 'seed', 'kills', 'bytes'] as const).map((name) =>
  readNumber(name, options[name], { min: 0, isWhole: true }),
) as [number, number, number, number];

const again = `again: npm run test:model -- ${process.argv.slice(2).join(' ')}`;
const startedMs = performance.now();
let logged: readonly string[] = [];
let isOver = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
// A node in this process may end the process.
process.on('exit', () => {
  if (!isOver) say([...logged, 'the process ends before the run is over', again].join('\n'));
});
try {
  report(await run());
} catch (error) {
  if (!(error instanceof Fault)) throw error;
  say(`${error.message}\n${again}`);
  process.exitCode = 1;
}
isOver = true;

async function run(): Promise<Figures> {
  if (bytes > 0) {
    await using nodes = await startRecordedNodes();
    logged = nodes.errors;
    return await runBytes(nodes, { seed, bytes });
  }
  await using nodes = await (kills > 0 ? startProcesses() : startNodes());
  logged = nodes.errors;
  return await runModel(nodes, { seed, requests, kills });
}

function report({ operations, refusals, ...figures }: Figures): void {
  const seconds = (performance.now() - startedMs) / 1000;
  const counted = Object.entries(figures).map(([name, count]) => `${name} ${count}`);
  say(`seed ${seed}: ${seconds.toFixed(1)} s, ${counted.join(', ')}`);
  for (const [title, counts] of Object.entries({ operations, refusals })) {
    say(`${title}:`);
    for (const name of [...counts.keys()].toSorted()) say(`${String(counts.get(name)).padStart(8)}  ${name}`);
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
