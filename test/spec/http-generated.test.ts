// Random requests that are generated from the OpenAPI document, valid or with one fault, get answers that the document
// names.
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AS_FIRST, issueKey, startGuardedNode } from '../support/guarded-node.ts';
import { type Answer, cloudEvent, jsonOf, uniqueName } from '../support/http-client.ts';
import { runs } from '../support/runs.ts';

type Keyword = '$ref' | 'const' | 'enum' | 'oneOf' | 'anyOf' | 'type' | 'items' | 'properties' | 'required';
type Bound = 'minItems' | 'minimum' | 'format' | 'minLength';
type Schema = Readonly<Partial<Record<Keyword | Bound, unknown>>>;

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema?: Schema }>> }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, Operation['responses'][string]>>;
  };
}

const SECRET = 'known-to-administrators-alone';
const LEAKS = [/\bat \S+ \(?(?:file|node):/, /\/(?:src|node_modules)\/[\w./-]+\.(?:ts|js)\b/, /\.ts:\d+/];

async function done(sent: Promise<Answer>, status: number): Promise<void> {
  const answer = await sent;
  if (answer.status !== status) throw new Error(answer.text);
}

const { api, server } = await startGuardedNode('--read-wait-ms=1');
const name = uniqueName();
await done(api.post('/databases', { name }, AS_FIRST), 201);
const event = cloudEvent('a', { subject: SECRET, data: { secret: SECRET } });
await done(api.post(`/api/v1/db/${name}`, { events: [event] }, AS_FIRST), 200);
const { headers: stranger } = await issueKey(api, 'reader:absent-*');
const document = jsonOf(await api.get('/api/v1/openapi.full.json', AS_FIRST)) as Document;
const ajv = new Ajv2020({ strict: false });
formats.default(ajv);
ajv.addSchema({ $id: 'document', components: document.components });

const CALLERS = { administrator: AS_FIRST, stranger, nobody: {} };
type Caller = keyof typeof CALLERS;

function resolved(schema: Schema): Schema {
  const { $ref } = schema;
  return typeof $ref === 'string' ? (document.components.schemas[$ref.split('/').at(-1) ?? ''] ?? {}) : schema;
}

const list = (value: unknown): readonly Schema[] => (Array.isArray(value) ? (value as Schema[]) : []);

function fitting(given: Schema, depth = 0): fc.Arbitrary<unknown> {
  const schema = resolved(given);
  if ('const' in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as unknown[]));
  const either = [...list(schema.oneOf), ...list(schema.anyOf)];
  if (either.length > 0 && depth < 6) return fc.oneof(...either.map((each) => fitting(each, depth + 1)));
  const type = Array.isArray(schema.type) ? (schema.type as unknown[])[0] : schema.type;
  if (type === 'object' || 'properties' in schema) return object(schema, depth);
  if (type === 'array') {
    const item = fitting(schema.items ?? {}, depth + 1);
    const minLength = Number(schema.minItems ?? 0);
    return fc.array(item, { minLength, maxLength: depth > 3 ? minLength : minLength + 2 });
  }
  if (type === 'integer' || type === 'number') return fc.integer({ min: Number(schema.minimum ?? 0), max: 1_000 });
  if (type === 'boolean') return fc.boolean();
  if (type === 'string') return text(schema);
  return depth > 3 ? fc.constant(null) : fc.jsonValue({ maxDepth: 1 });
}

function text({ format, minLength = 0 }: Schema): fc.Arbitrary<string> {
  if (format === 'uuid') return fc.uuid();
  if (format === 'date-time') return fc.constant('2024-01-01T00:00:00Z');
  const words = fc.constantFrom('a', 'orders', 'reader', name, '1.0', 'application/json', 'https://x.example/a');
  return fc.oneof(words, fc.string({ minLength: Number(minLength), maxLength: Number(minLength) + 10 }));
}

function object(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  const required = new Set((schema.required ?? []) as readonly string[]);
  const kept = depth > 4 ? properties.filter(([key]) => required.has(key)) : properties;
  const model = Object.fromEntries(kept.map(([key, each]) => [key, fitting(each, depth + 1)]));
  return fc.record(model, { requiredKeys: kept.map(([key]) => key).filter((key) => required.has(key)) });
}

type Break = 'none' | 'missing' | 'type' | 'extra' | 'long' | 'encoding' | 'cut';

function broken(value: unknown, how: Break, at: number): Buffer | string {
  const members: Record<string, unknown> =
    typeof value === 'object' && value !== null ? { ...(value as Record<string, unknown>) } : { value };
  const keys = Object.keys(members);
  const key = keys[at % Math.max(1, keys.length)] ?? 'x';
  if (how === 'missing') delete members[key];
  if (how === 'type') members[key] = typeof members[key] === 'number' ? 'seven' : 7;
  if (how === 'extra') members[`x${at}`] = { __proto__: null, at };
  if (how === 'long') members[key] = 'x'.repeat(100_000);
  const json = JSON.stringify(how === 'none' ? value : members);
  if (how === 'encoding') return Buffer.concat([Buffer.from(json.slice(0, -1)), Buffer.from([0xff, 0xc0, 0x7d])]);
  return how === 'cut' ? json.slice(0, -1) : json;
}

const breaks = fc.constantFrom<Break>('none', 'none', 'missing', 'type', 'extra', 'long', 'encoding', 'cut');
const KNOWN = [SECRET, 'x'.repeat(2_000), ...'latest 1 0 orders a 9007199254740992 -1 .. %00 %ff'.split(' ')];

function urlOf(path: string, { parameters = [] }: Operation): fc.Arbitrary<string> {
  const segment = fc.oneof(fc.constantFrom(...KNOWN), fc.string({ maxLength: 20 }).map(encodeURIComponent));
  const query = parameters.filter((each) => each.in === 'query').map((each) => each.name);
  const pairs =
    query.length === 0 ? fc.constant([]) : fc.array(fc.tuple(fc.constantFrom(...query), segment), { maxLength: 2 });
  return fc.tuple(fc.array(segment, { minLength: 6, maxLength: 6 }), pairs).map(([segments, asked]) => {
    const rest = [...segments];
    const filled = path.replaceAll(/\{(\w+)\}/g, (_all, what) => (what === 'database' ? name : (rest.pop() ?? 'a')));
    return asked.length === 0 ? filled : `${filled}?${asked.map((pair) => pair.join('=')).join('&')}`;
  });
}

function faultOf(answer: Answer, { responses }: Operation, caller: Caller): string | undefined {
  const { status, text: said } = answer;
  if (status >= 500 && status !== 503 && status !== 507) return `status ${status}`;
  if (status < 400 && responses[status] === undefined) return `status ${status}, which the document does not name`;
  const leak = LEAKS.find((each) => each.test(said));
  if (leak !== undefined && !answer.headers.get('content-type')?.includes('javascript')) return `a leak: ${leak}`;
  if (said.includes(server.dataDir) || (caller !== 'administrator' && status < 400 && said.includes(SECRET)))
    return 'what it must not say';
  const named = responses[status] ?? responses['default'];
  const { $ref } = (named ?? {}) as Schema;
  const response = typeof $ref === 'string' ? document.components.responses[$ref.split('/').at(-1) ?? ''] : named;
  const schema = response?.content?.['application/json']?.schema;
  if (schema === undefined || !answer.headers.get('content-type')?.startsWith('application/json')) return undefined;
  const validate = ajv.compile({ $ref: `document#/components/schemas/${String(schema.$ref).split('/').at(-1)}` });
  return validate(JSON.parse(said)) ? undefined : JSON.stringify(validate.errors?.[0]);
}

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);
const ENDS = new Set(['delete_databases_database', 'delete_api_v1_db_database']);
const FOR_ANYBODY = new Set(['get_health', 'get_livez', 'get_readyz', 'get_startupz', 'get_assets_file']);

/**
 * True unless the target is no valid path: such a target is refused before authentication, for bytes that are not UTF-8
 * and for dot segments.
 */
function isPath(target: string): boolean {
  return !target.includes('%ff') && !/\/\.\.?(?:[/?]|$)/.test(target);
}

describe('SPEC-HTTP-OPENAPI: requests drawn from the document', () => {
  const counts = { success: 0, refusal: 0 };

  it.each(operations)('$method $path are answered as it says', async ({ path, method, operation }) => {
    const contents = Object.entries(operation.requestBody?.content ?? {});
    const body =
      contents.length === 0
        ? fc.constant(undefined)
        : fc.oneof(
            ...contents.map(([type, { schema }]) =>
              fc
                .tuple(fitting(schema), breaks, fc.nat({ max: 20 }))
                .map(([value, how, at]) => ({ type, content: broken(value, how, at) })),
            ),
          );
    const caller = fc.constantFrom<Caller>('administrator', 'administrator', 'stranger', 'nobody');
    await fc.assert(
      fc.asyncProperty(urlOf(path, operation), body, caller, async (url, sent, who) => {
        const target = ENDS.has(operation.operationId) ? url.replace(name, uniqueName()) : url;
        const headers = { ...CALLERS[who], ...(sent !== undefined && { 'content-type': sent.type }) };
        const content = sent === undefined ? {} : { body: sent.content };
        const answer = await api.send(target, { method, headers, ...content });
        counts[answer.status < 400 ? 'success' : 'refusal'] += 1;
        const told = [faultOf(answer, operation, who), answer.status, answer.text.slice(0, 300)];
        expect(told).toEqual([undefined, answer.status, answer.text.slice(0, 300)]);
        const isAsked = who === 'nobody' && !FOR_ANYBODY.has(operation.operationId) && isPath(target);
        expect([isAsked, isAsked && answer.status]).toEqual([isAsked, isAsked && 401]);
      }),
      { numRuns: runs(25) },
    );
  });

  it('include successes and refusals, and leave the node healthy', async () => {
    expect(counts.success).toBeGreaterThan(operations.length);
    expect(counts.refusal).toBeGreaterThan(operations.length);
    expect(jsonOf(await api.get('/health/detailed', AS_FIRST))).toMatchObject({ status: 'ok' });
    expect((await api.get(`/databases/${name}`, AS_FIRST)).status).toBe(200);
  });
});
