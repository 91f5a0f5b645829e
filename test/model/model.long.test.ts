// Goal: a cluster answers as the specification says while its nodes are killed. Method: sessions of the reference model
// (README.md) with three processes; what a killed node did not answer is asked again, writes by their transaction_id.
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
