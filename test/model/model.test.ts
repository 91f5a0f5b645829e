// Goal: real nodes answer any request according to the specification. Method: random sessions against nodes in this
// process, comparing each answer with that of the reference model (README.md). `npm run test:model` runs more.
//
// The title of the first test names the clauses that no test of test/spec covers.
import { describe, expect, it } from 'vitest';
import { startNodes, startRecordedNodes } from './in-process.ts';
import { runBytes, runModel } from './run.ts';

const REQUESTS = 10_000;

describe('the reference model', () => {
  it('gives the answers that real nodes give to 10,000 random requests (SPEC-DATABASE-FIELDS, SPEC-EVENT-FIELDS, SPEC-EVENT-IDS, SPEC-EVENT-STREAM, SPEC-GRPC-FETCH-DATABASE, SPEC-GRPC-QUERY-EVENTS, SPEC-QUERY-BOUNDS, SPEC-SELECTOR-FLAT, SPEC-SELECTOR-KINDS, SPEC-TRANSACTION-ORDER-OF-CHECKS)', {
    timeout: 240_000,
  }, async () => {
    await using nodes = await startNodes();
    const { requests, operations, refusals } = await runModel(nodes, { seed: 1, requests: REQUESTS });
    expect(requests).toBeGreaterThanOrEqual(REQUESTS);
    expect(operations.size).toBeGreaterThan(55);
    expect(refusals.size).toBeGreaterThan(8);
    expect(nodes.errors).toEqual([]);
  });

  it('gives the answers of nodes that receive mutated and random bytes at each port', {
    timeout: 240_000,
  }, async () => {
    await using nodes = await startRecordedNodes();
    const { requests } = await runBytes(nodes, { seed: 1, bytes: 150 });
    expect(requests).toBeGreaterThanOrEqual(200);
    expect(nodes.targets.map(({ recorded }) => recorded.length > 0)).toEqual([true, true, true, true]);
    expect(nodes.errors).toEqual([]);
  });
});
