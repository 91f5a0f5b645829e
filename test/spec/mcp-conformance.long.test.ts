// Goal: the MCP endpoint passes the conformance suite of the protocol, in each revision that the suite knows, and works
// with the command line of the MCP inspector. Method: a real node, with both tools as processes. Cairn has exactly
// three tools and its own resources, so scenarios that need the tools and resources of the suite fail. They are
// recognized by name, and all others pass.
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHttpNode } from '../support/http-node.ts';
import { tempDir } from '../support/temp-dir.ts';

const PACKAGES = resolve(import.meta.dirname, '../../node_modules/@modelcontextprotocol');
const SUITE = join(PACKAGES, 'conformance/dist/index.js');
const INSPECTOR = join(PACKAGES, 'inspector/clients/launcher/build/index.js');
/** Limit of a run of all scenarios, some of which wait for a message that must not come. */
const SUITE_MS = 60_000;
const dir = tempDir();
const { server } = await startHttpNode();
afterAll(() => dir[Symbol.dispose]());

/** Names of the scenarios that need something that Cairn does not offer. */
const NOT_OFFERED: Readonly<Record<string, RegExp>> = {
  'tools of the suite': /^(?:tools-call-|elicitation-|json-schema-|http-custom-header-|input-required-result-)/,
  'resources of the suite': /^resources-(?:read|templates)-/,
  'prompts, completions, log levels, subscriptions': /^(?:prompts-|completion-|logging-|resources-.*subscribe)/,
  'the extension for tasks': /^tasks-/,
};
/** Scenarios of these names that pass nevertheless, because they have nothing to check. */
const EMPTY: ReadonlySet<string> = new Set([
  'input-required-result-ignore-extra-params',
  'input-required-result-missing-input-response',
  'input-required-result-unsupported-methods',
  'input-required-result-validate-input',
  'tasks-status-notifications',
]);
/** Checks of the other scenarios that need a tool or a prompt of the suite. */
const NEEDY: Readonly<Record<string, readonly string[]>> = {
  'server-stateless': [
    'sep-2575-server-rejects-undeclared-capability',
    'sep-2575-missing-capability-http-400',
    'sep-2575-http-server-no-independent-requests-on-stream',
    'sep-2575-server-no-log-without-loglevel',
  ],
  'http-header-validation': ['sep-2243-server-accepts-whitespace-header-value'],
  caching: ['sep-2549-prompts-list-caching-hints'],
};
const PASSING: Readonly<Record<string, readonly string[]>> = {
  '2025-11-25': ['server-initialize', 'server-session-lifecycle', 'ping', 'server-sse-polling'],
  '2026-07-28': ['sep-2164-resource-not-found', ...Object.keys(NEEDY)],
};
const ALWAYS_PASSING = ['dns-rebinding-protection', 'resources-list', 'server-sse-multiple-streams', 'tools-list'];

interface Check {
  readonly id: string;
  readonly status: string;
}

async function outcomesOf(revision: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const directory = join(dir.path, revision);
  mkdirSync(directory);
  const asked = ['server', '--url', `${server.mcp}/`, '--requirements', revision, '--timeout', '10000'];
  // The suite exits with 1 when a check fails; the files that it wrote name the checks.
  await promisify(execFile)(process.execPath, [SUITE, ...asked, '-o', directory]).catch(() => undefined);
  return new Map(
    readdirSync(directory).map((folder) => {
      const [, scenario = ''] = /^server-(.+?)-\d{4}-\d\d-\d\dT/.exec(folder) ?? [];
      const checks = JSON.parse(readFileSync(join(directory, folder, 'checks.json'), 'utf8')) as readonly Check[];
      return [scenario, checks.filter(({ status }) => status === 'FAILURE').map(({ id }) => id)] as const;
    }),
  );
}

describe.each(['2025-11-25', '2026-07-28'])('SPEC-MCP-REVISIONS: the conformance suite of %s', (revision) => {
  let outcomes: ReadonlyMap<string, readonly string[]> = new Map();
  beforeAll(async () => {
    outcomes = await outcomesOf(revision);
  }, SUITE_MS);

  it('passes for everything that Cairn offers', () => {
    const isOffered = (scenario: string): boolean => !Object.values(NOT_OFFERED).some((each) => each.test(scenario));
    const offered = [...outcomes].filter(([scenario]) => isOffered(scenario));
    const passing = [...ALWAYS_PASSING, ...(PASSING[revision] ?? [])].toSorted();
    expect(offered.map(([scenario]) => scenario).toSorted()).toEqual(passing);
    for (const [scenario, failed] of offered) expect([scenario, failed]).toEqual([scenario, NEEDY[scenario] ?? []]);
  });

  it.each(Object.entries(NOT_OFFERED))('fails where it needs %s', (_what, names) => {
    for (const [scenario, failed] of [...outcomes].filter(([each]) => names.test(each))) {
      expect([scenario, failed.length > 0]).toEqual([scenario, !EMPTY.has(scenario)]);
    }
  });
});

describe('SPEC-MCP-REVISIONS: the inspector', { timeout: 60_000 }, () => {
  it.concurrent.each<[string, readonly string[], object]>([
    ['tools/list', [], { tools: [{ name: 'fetch' }, { name: 'execute_state_change' }, { name: 'publish_component' }] }],
    [
      'tools/call',
      ['--tool-name', 'fetch', '--tool-arg', 'path=/'],
      { content: [{ type: 'text', text: expect.stringContaining('Links:') }] },
    ],
    [
      'resources/list',
      [],
      { resources: expect.arrayContaining([expect.objectContaining({ uri: 'service://guides/roles' })]) },
    ],
    [
      'resources/read',
      ['--uri', 'service://databases'],
      { contents: [{ uri: 'service://databases', text: expect.stringContaining('databases') }] },
    ],
  ])('has %s answered', async (method, args, answer) => {
    const all = [INSPECTOR, '--cli', `${server.mcp}/`, '--transport', 'http', '--method', method, ...args];
    const { stdout } = await promisify(execFile)(process.execPath, all, { env: { ...process.env, HOME: dir.path } });
    expect(JSON.parse(stdout)).toMatchObject(answer);
  });
});
