/** The three tools of the specification, each of which is a request to the HTTP API. */
import { quote } from '#base';
import { asked, type ToolCall } from './api-call.ts';
import { apiPath } from './paths.ts';
import { PublishCall } from './publish-call.ts';
import { type Arguments, type JsonObject, jsonOf, WrongArguments } from './tool-arguments.ts';

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object' } & Readonly<Record<string, unknown>>;
  /** @throws WrongArguments, ApiFailure, RequestFailed */
  readonly call: (given: Arguments, call: ToolCall) => Promise<string>;
}

/** What pages are asked for in: as text with links and actions. */
const TOON = 'text/plain';
const JSON_TYPE = 'application/json';

const text = (description: string): object => ({ type: 'string', description });
const integer = (description: string): object => ({ type: 'integer', minimum: 1, description });
const anyObject = (description: string): object => ({ type: 'object', description, additionalProperties: true });

function schema(properties: Readonly<Record<string, object>>, required: readonly string[]): Tool['inputSchema'] {
  return { type: 'object', properties, required, additionalProperties: false };
}

export const TOOLS: readonly Tool[] = [
  {
    name: 'fetch',
    description:
      'A request to the HTTP API of the event database: reads, and writes with a JSON body. Begin with GET / and follow the links of each answer; service://guides/api has all paths.',
    inputSchema: schema(
      {
        method: { type: 'string', enum: ['GET', 'POST'], default: 'GET', description: 'GET reads, POST writes.' },
        path: text('Such as /, /db/orders/latest, or /api/v1/db/orders (POST: a transaction).'),
        query_params: anyObject('Parameters of the query. They are encoded, an object under q as a query of events.'),
        body: anyObject('For POST: the JSON body, such as {"events": [...], "conditions": [...]}.'),
      },
      ['path'],
    ),
    call: fetchFromApi,
  },
  {
    name: 'execute_state_change',
    description:
      'Runs a command of a State Change, a component that decides which events follow from it, and commits these. Answers the transaction, or why the command was refused.',
    inputSchema: schema(
      {
        database: text('Its name.'),
        state_change: text('Name of the State Change.'),
        version: integer('Version of the State Change.'),
        command: anyObject(
          'The command: {"path", "body"}, and "method" unless it is POST, for one that is told apart by its path, or else the body alone.',
        ),
      },
      ['database', 'state_change', 'version', 'command'],
    ),
    call: executeStateChange,
  },
  {
    name: 'publish_component',
    description:
      'Publishes a WebAssembly component: a State View, which folds events into a state, or a State Change, which decides commands. service://guides/authoring says how one is written.',
    inputSchema: schema(
      {
        database: text('Its name.'),
        component_type: { type: 'string', enum: ['state_view', 'state_change'], description: 'What it is.' },
        name: text('Name of the State View or State Change.'),
        version: integer('The version that this is to be: one more than the latest, 1 for the first.'),
        content_type: text('Media type of the rendered state; not used of a State Change.'),
        wasm_base64: text('The component, in base64.'),
        key_type: { type: 'string', enum: ['String', 'Int64', 'None'], description: 'Of a State View: of its key.' },
        reduce_fn: text('Of a State View: the function that folds; reduce unless given.'),
        events: { type: 'array', items: { type: 'string' }, description: 'Of a State View: the types that it folds.' },
      },
      ['database', 'component_type', 'name', 'version', 'content_type', 'wasm_base64'],
    ),
    call: (given, call) => new PublishCall(given).send(call),
  },
];

async function fetchFromApi(given: Arguments, call: ToolCall): Promise<string> {
  const method = given.oneOf('method', ['GET', 'POST']) ?? 'GET';
  const found = apiPath(given.text('path'), queryOf(given));
  if ('fault' in found) throw new WrongArguments(`path ${found.fault}; found ${quote(given.text('path'))}`);
  const body = given.object('body');
  if (body !== undefined && method === 'GET') throw new WrongArguments('body is for POST; a GET has none');
  return asked(call, {
    method,
    path: found.path,
    accept: TOON,
    ...(method === 'POST' && { body: { contentType: JSON_TYPE, bytes: jsonOf(body ?? {}) } }),
  });
}

/** An object under `q` is a query of events, as its route takes it: JSON in URL-safe base64. */
function queryOf(given: Arguments): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of Object.entries(given.object('query_params') ?? {})) {
    if (typeof value === 'object' && value !== null && name === 'q') {
      parameters.set(name, Buffer.from(jsonOf(value)).toString('base64url'));
    } else if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      parameters.set(name, String(value));
    } else {
      throw new WrongArguments(`query_params.${name} must be a text, a number, true or false, and q may be an object`);
    }
  }
  return parameters;
}

function executeStateChange(given: Arguments, call: ToolCall): Promise<string> {
  const command = given.object('command') ?? {};
  const segments = ['database', 'state_change'].map((name) => encodeURIComponent(given.text(name)));
  const [database = '', stateChange = ''] = segments;
  const version = `v${given.integer('version')}`;
  const path = isDescribed(command)
    ? `/api/v1/db/${database}/state-changes/${stateChange}/${version}/execute`
    : `/api/v1/db/${database}/latest/state-changes/${stateChange}/${version}`;
  return asked(call, { method: 'POST', path, accept: TOON, body: { contentType: JSON_TYPE, bytes: jsonOf(command) } });
}

/** As `/execute` takes it; anything else is a body, of which its component may make what it likes. */
function isDescribed({ method, path, body: _body, ...others }: JsonObject): boolean {
  const isNamed = typeof path === 'string' && (method === undefined || method === null || typeof method === 'string');
  return isNamed && Object.keys(others).length === 0;
}
