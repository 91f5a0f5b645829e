/**
 * The conformance suite of the protocol, run against a node, and what it is expected to find there. Cairn has exactly
 * three tools and its own resources; a server that is to pass all of the suite has the suite's.
 */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const SUITE = resolve(import.meta.dirname, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js');
/** Of a scenario, and of all. */
const SCENARIO_MS = 10_000;
const SUITE_MS = 55_000;

/** By scenario the checks of it that fail. */
export type Outcomes = Readonly<Record<string, readonly string[]>>;

type Clause = `SPEC-${string}`;

/**
 * Scenarios with the clauses of the specification that they are about: those that pass show these, and where some fail
 * they say what holds instead, which other tests show (test/tidy/clauses.ts). All are named, so that what is new in a
 * suite is looked at, and no scenario is without a clause.
 */
interface Expected {
  readonly clauses: readonly [Clause, ...Clause[]];
  /** Why checks of these fail; absent: none does. */
  readonly why?: string;
  readonly outcomes: Outcomes;
}

/** Scenarios with one check besides that of the schema, which has the same name. */
function one(...scenarios: readonly string[]): Outcomes {
  return Object.fromEntries(scenarios.map((scenario) => [scenario, [scenario]]));
}

/** That pass. */
function none(...scenarios: readonly string[]): Outcomes {
  return Object.fromEntries(scenarios.map((scenario) => [scenario, []]));
}

/** Ours answer with text, say what was wrong and ask nothing of a client. */
const NO_TOOL = {
  clauses: ['SPEC-MCP-TOOLS', 'SPEC-MCP-REVISIONS'],
  why: 'calls tools of the suite, such as test_simple_text',
} as const;
/** Ours and the template are read. */
const NO_RESOURCE = {
  clauses: ['SPEC-MCP-RESOURCES'],
  why: 'reads resources of the suite, such as test://static-text',
} as const;
/** Methods of these are refused as unknown. */
const NO_PROMPTS = {
  clauses: ['SPEC-MCP-REVISIONS'],
  why: 'needs prompts, of which Cairn has none: they are no capability of its',
} as const;
const NOT_OFFERED = {
  clauses: ['SPEC-MCP-REVISIONS'],
  why: 'needs what Cairn does not offer, nor says that it does: completions, log levels, subscriptions',
} as const;
const NO_TASKS = {
  clauses: ['SPEC-MCP-REVISIONS'],
  why: 'is of the extension for tasks, which Cairn does not have',
} as const;

const PROMPTS = one(
  'prompts-list',
  'prompts-get-simple',
  'prompts-get-with-args',
  'prompts-get-embedded-resource',
  'prompts-get-with-image',
);
const RESOURCES = one('resources-read-text', 'resources-read-binary', 'resources-templates-read');
const TOOLS: Outcomes = {
  ...one(
    'tools-call-simple-text',
    'tools-call-image',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
    'tools-call-error',
    'tools-call-with-progress',
  ),
  'json-schema-2020-12': ['json-schema-2020-12-tool-found'],
};

export const EXPECTED: Readonly<Record<'2025-11-25' | '2026-07-28', readonly Expected[]>> = {
  '2025-11-25': [
    {
      clauses: ['SPEC-MCP-HANDSHAKE'],
      outcomes: none('server-initialize', 'server-session-lifecycle', 'ping', 'dns-rebinding-protection'),
    },
    { clauses: ['SPEC-MCP-TOOLS'], outcomes: none('tools-list') },
    { clauses: ['SPEC-MCP-RESOURCES'], outcomes: none('resources-list') },
    { clauses: ['SPEC-MCP-REVISIONS'], outcomes: none('server-sse-multiple-streams', 'server-sse-polling') },
    {
      ...NO_TOOL,
      outcomes: {
        ...TOOLS,
        ...one('tools-call-sampling', 'tools-call-elicitation', 'tools-call-with-logging'),
        'elicitation-sep1034-defaults': ['elicitation-sep1034-general'],
        'elicitation-sep1330-enums': ['elicitation-sep1330-general'],
      },
    },
    { ...NO_RESOURCE, outcomes: RESOURCES },
    { ...NO_PROMPTS, outcomes: PROMPTS },
    {
      ...NOT_OFFERED,
      outcomes: one('completion-complete', 'logging-set-level', 'resources-subscribe', 'resources-unsubscribe'),
    },
  ],
  '2026-07-28': [
    { clauses: ['SPEC-MCP-TOOLS'], outcomes: none('tools-list') },
    { clauses: ['SPEC-MCP-RESOURCES'], outcomes: none('resources-list', 'sep-2164-resource-not-found') },
    {
      clauses: ['SPEC-MCP-REVISIONS'],
      outcomes: none('dns-rebinding-protection', 'server-sse-multiple-streams'),
    },
    {
      // These find nothing wrong with an error for a tool that there is not.
      clauses: ['SPEC-MCP-TOOLS'],
      outcomes: none(
        'input-required-result-ignore-extra-params',
        'input-required-result-missing-input-response',
        'input-required-result-unsupported-methods',
        'input-required-result-validate-input',
      ),
    },
    // It has nothing but what it skips.
    { clauses: NO_TASKS.clauses, outcomes: none('tasks-status-notifications') },
    {
      ...NO_TOOL,
      outcomes: {
        ...TOOLS,
        'server-stateless': [
          'sep-2575-server-rejects-undeclared-capability',
          'sep-2575-missing-capability-http-400',
          'sep-2575-http-server-no-independent-requests-on-stream',
          'sep-2575-server-no-log-without-loglevel',
        ],
        // It calls the first tool without arguments, where ours has one that is required.
        'http-header-validation': ['sep-2243-server-accepts-whitespace-header-value'],
        'http-custom-header-server-validation': [
          'sep-2243-server-no-xmcp-tool',
          'sep-2243-server-decode-base64',
          'sep-2243-server-validate-param-match',
          'sep-2243-server-reject-invalid-param-chars',
          'sep-2243-server-reject-param-mismatch',
        ],
        'input-required-result-basic-elicitation': ['sep-2322-elicitation-incomplete'],
        'input-required-result-basic-list-roots': ['sep-2322-list-roots-incomplete'],
        'input-required-result-basic-sampling': ['sep-2322-sampling-incomplete'],
        'input-required-result-capability-check': ['sep-2322-respect-client-capabilities'],
        'input-required-result-multi-round': ['sep-2322-multi-round-r1'],
        'input-required-result-multiple-input-requests': ['sep-2322-multiple-inputs-incomplete'],
        'input-required-result-request-state': ['sep-2322-request-state-incomplete'],
        'input-required-result-result-type': ['sep-2322-result-type-included'],
        'input-required-result-tampered-state': ['sep-2322-reject-tampered-state'],
      },
    },
    { ...NO_RESOURCE, outcomes: RESOURCES },
    {
      ...NO_PROMPTS,
      outcomes: {
        ...PROMPTS,
        'input-required-result-non-tool-request': ['sep-2322-non-tool-incomplete'],
        caching: ['sep-2549-prompts-list-caching-hints'],
      },
    },
    { ...NOT_OFFERED, outcomes: one('completion-complete') },
    {
      ...NO_TASKS,
      outcomes: {
        'tasks-capability-negotiation': [
          'tasks-extension-advertised',
          'sep-2663-tasks-methods-non-declaring',
          'sep-2663-server-rejects-undeclared-client',
          'tasks-per-request-meta-opt-in',
        ],
        'tasks-dispatch-and-envelope': [
          'tasks-server-directed-creation-no-hint',
          'sep-2663-legacy-task-param-ignored',
          'tasks-immediate-result-shortcut',
          'tasks-result-type-complete-on-non-task-responses',
          'sep-2663-durable-create-strong-consistency',
          'sep-2663-tasks-get-invalid-task-id-32602',
        ],
        'tasks-lifecycle': [
          'tasks-sync-tool-call',
          'sep-2663-result-type-task-on-create',
          'sep-2663-tasks-get-status-working',
          'sep-2663-tasks-get-status-completed',
          'sep-2663-tool-error-uses-completed-status',
          'sep-2663-tasks-get-status-failed',
          'sep-2663-cancel-ack-empty-result',
          'tasks-cancel-terminal-idempotent-ack',
        ],
        'tasks-mrtr-composition': ['sep-2663-mrtr-synchronous-before-task-creation'],
        'tasks-mrtr-input': [
          'sep-2663-tasks-get-status-input-required',
          'tasks-mrtr-tasks-update-resumes',
          'tasks-mrtr-partial-fulfillment',
        ],
        'tasks-request-headers': [
          'tasks-headers-tolerate-mcp-method-on-tools-call',
          'sep-2663-routing-headers-accepted-on-tasks-get',
          'sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get',
        ],
        'tasks-request-state-removal': ['tasks-request-state-removal-setup'],
        'tasks-required-task-error': ['sep-2663-server-returns-missing-capability-when-required'],
        'tasks-wire-fields': [
          'tasks-wire-field-renames',
          'tasks-no-early-ttl-expiry',
          'tasks-no-related-task-meta-on-inlined-result',
        ],
      },
    },
  ],
};

/** Runs all that the revision asks of a server; `directory` is empty. */
export async function conformance(url: string, revision: string, directory: string): Promise<Outcomes> {
  const asked = ['server', '--url', `${url}/`, '--requirements', revision, '--timeout', String(SCENARIO_MS)];
  const said = await output(process.execPath, [SUITE, ...asked, '-o', directory]);
  const found = readdirSync(directory).map((folder) => {
    const [, scenario = ''] = /^server-(.+?)-\d{4}-\d\d-\d\dT/.exec(folder) ?? [];
    const checks = JSON.parse(readFileSync(join(directory, folder, 'checks.json'), 'utf8')) as readonly Check[];
    return [scenario, checks.filter(({ status }) => status === 'FAILURE').map(({ id }) => id)] as const;
  });
  if (found.length === 0) throw new Error(`The suite has run nothing: ${said}`);
  return Object.fromEntries(found);
}

interface Check {
  readonly id: string;
  readonly status: string;
}

/** The suite ends with 1 when anything fails: what it has written says what. */
function output(command: string, args: readonly string[]): Promise<string> {
  return new Promise((settle) => {
    execFile(command, args, { timeout: SUITE_MS }, (_failure, stdout, stderr) =>
      settle(`${stdout}${stderr}`.slice(-2_000)),
    );
  });
}
