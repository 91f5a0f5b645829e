// Goal: the endpoint conforms to the protocol by its own suite, in each revision that the suite knows, and works with
// the inspector's command line. Method: a real node; the suite's scenarios for servers, and the outcome of each, by the
// clauses that it is about, so that one that begins to fail is seen and one that begins to pass, too; the inspector as
// a process.
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { conformance, EXPECTED, type Outcomes } from '../support/mcp-conformance.ts';
import { startTestServer } from '../support/server.ts';
import { tempDir } from '../support/temp-dir.ts';

const INSPECTOR = resolve(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
);
const run = promisify(execFile);
const dir = tempDir();
const server = await startTestServer();

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  dir[Symbol.dispose]();
});

/** Scenarios one after the other, some of which wait for what should not come. */
const SUITE_MS = 60_000;

describe.each(['2025-11-25', '2026-07-28'] as const)('the conformance suite of %s', (revision) => {
  let outcomes: Outcomes = {};
  beforeAll(async () => {
    const results = tempDir();
    using _ = results;
    outcomes = await conformance(server.mcp, revision, results.path);
  }, SUITE_MS);

  it('SPEC-MCP-REVISIONS: has the scenarios that are expected, and each has one outcome', () => {
    const scenarios = EXPECTED[revision].flatMap((each) => Object.keys(each.outcomes));
    expect(Object.keys(outcomes).toSorted()).toEqual(scenarios.toSorted());
  });

  it.each(EXPECTED[revision].map((each) => [each.clauses.join(), each.why ?? 'passes', each.outcomes] as const))(
    '%s: %s',
    (_clauses, _why, expected) => {
      const found = Object.keys(expected).map((scenario) => [scenario, outcomes[scenario]] as const);
      expect(Object.fromEntries(found)).toEqual(expected);
    },
  );
});

describe('SPEC-MCP-REVISIONS: the inspector', { timeout: 60_000 }, () => {
  const inspected = async (...args: readonly string[]): Promise<unknown> => {
    const all = [INSPECTOR, '--cli', `${server.mcp}/`, '--transport', 'http', ...args];
    const { stdout } = await run(process.execPath, all, { env: { ...process.env, HOME: dir.path } });
    return JSON.parse(stdout);
  };

  it.concurrent.each<[string, readonly string[], object]>([
    [
      'lists the tools',
      ['tools/list'],
      { tools: [{ name: 'fetch' }, { name: 'execute_state_change' }, { name: 'publish_component' }] },
    ],
    [
      'calls a tool',
      ['tools/call', '--tool-name', 'fetch', '--tool-arg', 'path=/'],
      { content: [{ type: 'text', text: expect.stringContaining('Links:') }] },
    ],
    [
      'lists the resources',
      ['resources/list'],
      { resources: expect.arrayContaining([expect.objectContaining({ uri: 'service://guides/roles' })]) },
    ],
    [
      'reads a resource',
      ['resources/read', '--uri', 'service://databases'],
      { contents: [{ uri: 'service://databases', text: expect.stringContaining('databases') }] },
    ],
  ])('%s', async (_what, [method = '', ...args], answer) => {
    expect(await inspected('--method', method, ...args)).toMatchObject(answer);
  });
});
