// The schemas of request bodies accept exactly the bodies that the node accepts (ADR 0156).
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../src/transport/http/openapi/operations.ts';
import { AS_FIRST, issueKey } from '../support/guarded-node.ts';
import { cloudEvent, jsonOf, uniqueName } from '../support/http-client.ts';
import { sharedGuardedNode } from '../support/shared-servers.ts';
import { toonComponents } from '../support/toon-node.ts';

const { api } = await sharedGuardedNode();
const name = uniqueName();
const path = `/api/v1/db/${name}`;
const components = await toonComponents();

type Body = Readonly<Record<string, unknown>>;

/** A valid body, and a function that sends another body and says whether the node accepts it. */
interface Request {
  readonly body: () => Body;
  readonly takes: (body: unknown) => Promise<boolean>;
}

/** A conflict counts as accepted: the node has understood the body. */
function posted(target: string): Request['takes'] {
  return async (body) => {
    const { status } = await api.post(target, JSON.stringify(body), AS_FIRST);
    return status < 300 || status === 409;
  };
}

function published(kind: string, wasm: Uint8Array): Request['takes'] {
  return async (metadata) =>
    (await api.publish(`${name}/${kind}`, JSON.stringify(metadata), wasm, AS_FIRST)).status < 300;
}

await posted('/databases')({ name });
const presented = { presenter_name: 'shows', content_types: ['text/csv'] };
await published('presenters', components.presenter)(presented);
await published('state-changes', components.change)({ state_change_name: 'decides' });
const { id: key } = await issueKey(api, 'reader');
const decides = `${path}/state-changes/decides/v1/execute`;

const REQUESTS: Readonly<Record<string, Request>> = {
  NewDatabase: { body: () => ({ database_name: uniqueName(), copies: 5 }), takes: posted('/api/v1/db') },
  NewNamedDatabase: { body: () => ({ name: uniqueName(), copies: 5 }), takes: posted('/databases') },
  NewTransaction: {
    body: () => ({
      events: [cloudEvent('a')],
      conditions: [
        { min_revision: { revision: 0 } },
        { max: { selector: { equals: { stream: 'none' } }, revision: 0 } },
      ],
      // A new id for each request, because a repeat would get the recorded result.
      transaction_id: crypto.randomUUID(),
      commit_message: 'said',
      principal_attributes: { user: 'ada' },
    }),
    takes: posted(path),
  },
  Query: {
    body: () => ({ selectors: [{ event_type: 't' }], direction: 'reverse', limit: 5 }),
    takes: posted(`/databases/${name}/query`),
  },
  NewApiKey: {
    body: () => ({ name: 'made', roles: ['reader'], expires_at: '2999-01-01T00:00:00Z' }),
    takes: posted('/api/v1/auth/keys'),
  },
  Rotation: { body: () => ({ overlap_seconds: 0 }), takes: posted(`/api/v1/auth/keys/${key}/rotate`) },
  NewToken: {
    body: () => ({ name: 'made', roles: ['reader'], expires_in_seconds: 60 }),
    takes: posted('/api/v1/auth/tokens'),
  },
  DescribedCommand: { body: () => ({ method: 'POST', path: '/a', body: { n: 1 } }), takes: posted(decides) },
  ProcessedCommand: {
    body: () => ({ command: { n: 1 }, parameters: { of: 'a' } }),
    takes: posted(`/databases/${name}/state-changes/decides/process`),
  },
  StateViewMetadata: {
    body: () => ({
      state_view_name: uniqueName(),
      content_type: 'application/x-count',
      query_temporality: 'revision',
      description: 'counts',
      priority: 'low',
      key_type: 'None',
      events: ['order.placed'],
      presenter: { name: 'shows', version: 1 },
    }),
    takes: published('state-views', components.view),
  },
  StateChangeMetadata: {
    body: () => ({ state_change_name: uniqueName(), description: 'decides', state_view_names: [] }),
    takes: published('state-changes', components.change),
  },
  PresenterMetadata: {
    body: () => ({ ...presented, presenter_name: uniqueName(), settings: { of: 'a' } }),
    takes: published('presenters', components.presenter),
  },
};

const document = jsonOf(await api.get('/api/v1/openapi.full.json', AS_FIRST)) as { readonly components: object };
const ajv = new Ajv2020({ strict: false });
formats.default(ajv);
ajv.addSchema({ $id: 'document', components: document.components });

function changed(body: Body): readonly (readonly [what: string, body: unknown])[] {
  return [
    ['as it is', body],
    ['an unknown member', { ...body, unheard_of: 1 }],
    ['no object', [body]],
    ...Object.keys(body).flatMap((member) => [
      [`${member} is 5.5`, { ...body, [member]: 5.5 }] as const,
      [`${member} is null`, { ...body, [member]: null }] as const,
      [`${member} is missing`, Object.fromEntries(Object.entries(body).filter(([each]) => each !== member))] as const,
    ]),
  ];
}

describe('SPEC-HTTP-OPENAPI: the schema of a request body', () => {
  it('is tried for every body', () => {
    const bodies = Object.values(OPERATIONS).flatMap(({ body = {} }) => Object.values(body));
    const tried = new Set([...Object.keys(REQUESTS), 'StateViewPublication', 'StateChangePublication']);
    // Every JSON value is a command, and http-transact.test.ts tries events of their own content types.
    for (const each of ['PresenterPublication', 'Command', 'NewEvent', 'NewEvents']) tried.add(each);
    expect(bodies.filter((each) => !tried.has(each))).toEqual([]);
  });

  it.each(Object.entries(REQUESTS))(
    '%s: the node accepts what it accepts, and refuses what it refuses',
    async (schema, given) => {
      const fits = ajv.compile({ $ref: `document#/components/schemas/${schema}` });
      for (const what of changed(given.body()).map(([each]) => each)) {
        const [, body] = changed(given.body()).find(([each]) => each === what) ?? [];
        // The node also accepts a list of events as a transaction. The schema of another content type describes it.
        if (schema === 'NewTransaction' && Array.isArray(body)) continue;
        expect([what, await given.takes(body)]).toEqual([what, fits(body)]);
      }
    },
  );
});
