/** The three tools of the specification; each sends a request to the HTTP API. */
import { quote } from '#base';
import { type JsonFault, type JsonNode, type JsonObject, parseJson } from '#model';
import { asked, type ToolCall } from './api-call.ts';
import { apiPath } from './paths.ts';
import { publishComponent } from './publish-call.ts';
import {
  type ArgumentSchema,
  type Arguments,
  type ArgumentsSchema,
  integer,
  isObject,
  membersOf,
  object,
  oneOf,
  text,
  WrongArguments,
  wellFormed,
} from './tool-arguments.ts';

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ArgumentsSchema;
  /** @throws WrongArguments, ApiFailure, RequestFailed */
  readonly call: (given: Arguments, call: ToolCall) => Promise<string>;
}

/** Media type of pages: text with links and actions. */
const TOON = 'text/plain';
const JSON_TYPE = 'application/json';
/** Members that are relayed as bytes: a query of events, and the body of a command. */
const QUERIES: ReadonlySet<string> = new Set(['q']);
const COMMAND_BODY: ReadonlySet<string> = new Set(['body']);
/** Members of a command with a path. */
const DESCRIPTION: ReadonlySet<string> = new Set(['method', 'path', 'body']);

const textSchema = (description: string): ArgumentSchema => ({ type: 'string', description });
const integerSchema = (description: string): ArgumentSchema => ({ type: 'integer', minimum: 1, description });
const anyObject = (description: string): ArgumentSchema => {
  return { type: 'object', description, additionalProperties: true };
};

function schema(properties: ArgumentsSchema['properties'], required: ArgumentsSchema['required']): ArgumentsSchema {
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
        path: textSchema('Such as /, /db/orders/latest, or /api/v1/db/orders (POST: a transaction).'),
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
        database: textSchema('Its name.'),
        state_change: textSchema('Name of the State Change.'),
        version: integerSchema('Version of the State Change.'),
        command: anyObject(
          'The command: {"path", "body"}, and "method" unless it is POST, when the State Change has paths; otherwise the body alone.',
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
        database: textSchema('Its name.'),
        component_type: { type: 'string', enum: ['state_view', 'state_change'], description: 'What it is.' },
        name: textSchema('Name of the State View or State Change.'),
        version: integerSchema(
          'The version that this is to be: one more than the last that was given, 1 for the first.',
        ),
        content_type: textSchema('Media type of the rendered state; not used of a State Change.'),
        wasm_base64: textSchema('The component, in base64.'),
        key_type: { type: 'string', enum: ['String', 'Int64', 'None'], description: 'Of a State View: of its key.' },
        reduce_fn: textSchema('Of a State View: the function that folds; reduce unless given.'),
        events: { type: 'array', items: { type: 'string' }, description: 'Of a State View: the types that it folds.' },
      },
      ['database', 'component_type', 'name', 'version', 'content_type', 'wasm_base64'],
    ),
    call: publishComponent,
  },
];

async function fetchFromApi(given: Arguments, call: ToolCall): Promise<string> {
  const method = given.optional('method', oneOf('GET', 'POST')) ?? 'GET';
  const found = apiPath(given.required('path', text), queryOf(given));
  if ('fault' in found) throw new WrongArguments(`path ${found.fault}; found ${quote(given.required('path', text))}`);
  const bytes = given.optional('body', object);
  if (bytes !== undefined && method === 'GET') throw new WrongArguments('body is for POST; a GET has none');
  return asked(call, {
    method,
    path: found.path,
    accept: TOON,
    ...(bytes !== undefined && { body: { contentType: JSON_TYPE, bytes } }),
  });
}

/** An object under `q` is a query of events, in the form of its route: JSON in URL-safe base64. */
function queryOf(given: Arguments): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  const bytes = given.optional('query_params', object);
  const members = bytes === undefined ? [] : membersOf(bytes, 'query_params', QUERIES);
  for (const [name, node] of members) {
    parameters.set(
      name,
      parameterFrom(name, node.kind === 'raw' && !isObject(node.bytes) ? parseJson(node.bytes) : node),
    );
  }
  return parameters;
}

function parameterFrom(name: string, node: JsonNode | JsonFault): string {
  if (node.kind === 'raw') return Buffer.from(node.bytes).toString('base64url');
  if (node.kind === 'number') return node.text;
  if (node.kind === 'string') return wellFormed(`query_params.${name}`, node.value);
  if (node.kind === 'boolean') return String(node.value);
  throw new WrongArguments(`query_params.${name} must be a text, a number, true or false, and q may be an object`);
}

function executeStateChange(given: Arguments, call: ToolCall): Promise<string> {
  const bytes = given.required('command', object);
  const segments = ['database', 'state_change'].map((name) => encodeURIComponent(given.required(name, text)));
  const [database = '', stateChange = ''] = segments;
  const version = `v${given.required('version', integer)}`;
  const path = isDescribed(membersOf(bytes, 'command', COMMAND_BODY))
    ? `/api/v1/db/${database}/state-changes/${stateChange}/${version}/execute`
    : `/api/v1/db/${database}/latest/state-changes/${stateChange}/${version}`;
  return asked(call, { method: 'POST', path, accept: TOON, body: { contentType: JSON_TYPE, bytes } });
}

/** Tells whether it is a command for `/execute`; anything else is a body for its component. */
function isDescribed(command: JsonObject['members']): boolean {
  const method = command.get('method')?.kind ?? 'null';
  const isNamed = command.get('path')?.kind === 'string' && (method === 'null' || method === 'string');
  return isNamed && [...command.keys()].every((name) => DESCRIPTION.has(name));
}
