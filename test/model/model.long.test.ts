// Goal: a cluster answers according to the specification while its nodes are killed. Method: sessions of the reference
// model (README.md) with three processes; requests without an answer are repeated, writes with their transaction_id.
import { expect, it } from 'vitest';
import { startProcesses } from './processes.ts';
import { runModel } from './run.ts';

it('nodes that are killed give the answers of the reference model', { timeout: 600_000 }, async () => {
  await using nodes = await startProcesses();
  const { kills, repeats } = await runModel(nodes, { seed: 1, requests: 3000, kills: 12 });
  expect(kills).toBe(12);
  expect(repeats).toBeGreaterThan(0);
  expect(nodes.errors).toEqual([]);
});
