// Goal: tools send their arguments unchanged to the HTTP API, or reject them (TC1, TC8). Method: tables of arguments,
// and an API that records requests.
import { expect, it } from 'vitest';
import { Api, type ApiAnswer, type ApiRequest } from '../../../../src/transport/mcp/api.ts';
import { rawArguments, readMessage } from '../../../../src/transport/mcp/message-json.ts';
import { Arguments } from '../../../../src/transport/mcp/tool-arguments.ts';
import { TOOLS } from '../../../../src/transport/mcp/tools.ts';

class NotingApi extends Api {
  readonly asked: ApiRequest[] = [];

  constructor() {
    super('http://127.0.0.1:1', () => {
      throw new Error('Nothing is dialled');
    });
  }

  override ask(request: ApiRequest): Promise<ApiAnswer> {
    this.asked.push(request);
    return Promise.resolve({ status: 200, text: 'done', location: undefined });
  }
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: string | undefined;
}

async function sentBy(name: string, given: string): Promise<Sent | undefined> {
  const read = readMessage(Buffer.from(`{"params":{"arguments":${given}}}`));
  if (read.kind === 'fault') throw new Error(read.message);
  const { params } = read.value as { readonly params: { readonly arguments: Record<string, unknown> } };
  const tool = TOOLS.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`There is no tool ${name}`);
  const api = new NotingApi();
  const call = { api, authorization: undefined, signal: new AbortController().signal, span: undefined };
  await tool.call(new Arguments(rawArguments(params.arguments), tool.inputSchema), call);
  const [asked] = api.asked;
  return (
    asked && { method: asked.method, path: asked.path, body: asked.body && Buffer.from(asked.body.bytes).toString() }
  );
}

const EXACT = '{"events":[{"data": 9007199254740993},{"data":1.10},{"data":1e400,"data":"\\u00e9\\ud800"}]}';
const Q = '{"selector":{"data":[1.10, 9007199254740993]}}';

const gets = (path: string): Sent => ({ method: 'GET', path, body: undefined });

it.each<[string, Sent]>([
  ['{"path":"/"}', gets('/')],
  [`{"method":"POST","path":"/api/v1/db/a","body":${EXACT}}`, { method: 'POST', path: '/api/v1/db/a', body: EXACT }],
  ['{"method":"POST","path":"/api/v1/db/a"}', { method: 'POST', path: '/api/v1/db/a', body: undefined }],
  [
    '{"path":"/db/a?x=1","query_params":{"limit":10,"at":1.50,"all":true,"b c":"é&"}}',
    gets('/db/a?x=1&limit=10&at=1.50&all=true&b+c=%C3%A9%26'),
  ],
  [
    `{"path":"/db/a/1/events","query_params":{"q":${Q}}}`,
    gets(`/db/a/1/events?q=${Buffer.from(Q).toString('base64url')}`),
  ],
  ['{"path":"/db/a/1/events","query_params":{"q":"e30"}}', gets('/db/a/1/events?q=e30')],
])('fetch %s is sent as it was written', async (given, sent) => {
  expect(await sentBy('fetch', given)).toEqual(sent);
});

const DESCRIBED = '/api/v1/db/shop/state-changes/orders/v3/execute';
const AS_BODY = '/api/v1/db/shop/latest/state-changes/orders/v3';
const COMMANDED = '"database":"shop","state_change":"orders","version":3';

it.each([
  ['{"method":"POST","path":"/orders/a","body":{"total":1.10}}', DESCRIBED],
  ['{"path":"/orders/a","body":{"a":1,"a":2}}', DESCRIBED],
  ['{"path":"/orders/a"}', DESCRIBED],
  ['{"method":null,"path":"/orders/a"}', DESCRIBED],
  ['{"method":"DELETE","path":"/orders/a"}', DESCRIBED],
  ['{}', AS_BODY],
  ['{"body":{"total":9007199254740993}}', AS_BODY],
  ['{"method":"POST","body":{"total":1}}', AS_BODY],
  ['{"path":5}', AS_BODY],
  ['{"path":"/orders/a","method":5}', AS_BODY],
  ['{"path":"/var/lib","size":1}', AS_BODY],
  ['{"method":"card","path":"b","total":1}', AS_BODY],
])('the command %s is sent as it was written, to the route for its form', async (command, path) => {
  const given = `{${COMMANDED},"command":${command}}`;
  expect(await sentBy('execute_state_change', given)).toEqual({ method: 'POST', path, body: command });
});

const PUBLISHED = '"database":"a","name":"n","version":1,"content_type":"text/plain"';

it.each<[string, string, RegExp]>([
  ['fetch', '{}', /^path is required$/],
  ['fetch', '5', /^arguments must be an object; found 5$/],
  ['fetch', '{"path":5}', /^path must be a text; found 5$/],
  ['fetch', '{"path":"/","path":"/db/a"}', /^arguments must be JSON: .*"path" is repeated/],
  ['fetch', '{"path":"http://127.0.0.1:1/"}', /path must begin with one slash/],
  ['fetch', '{"path":"//example.com/db"}', /path must begin with one slash/],
  ['fetch', '{"path":"/db/../../etc"}', /path must not have \. or \.\./],
  ['fetch', '{"path":"/db/%2e%2e/x"}', /path must not have \. or \.\./],
  ['fetch', '{"path":"/metrics"}', /path must be \/, or begin with/],
  ['fetch', '{"path":"/db/a\\\\b"}', /without spaces, backslashes/],
  ['fetch', '{"path":"/db/a b"}', /without spaces, backslashes/],
  ['fetch', '{"path":"/db/a?b c"}', /a query of printable ASCII/],
  ['fetch', '{"path":"/","method":"DELETE"}', /method must be one of GET, POST; found "DELETE"/],
  ['fetch', '{"path":"/","method":"GET","body":{}}', /body is for POST/],
  ['fetch', '{"path":"/","method":"POST","body":null}', /body must be an object; found null/],
  ['fetch', '{"path":"/","other":1}', /there is no argument "other"; there are method, path,/],
  ['fetch', '{"path":"/","__proto__":1}', /there is no argument "__proto__"/],
  ['fetch', '{"path":"/","query_params":{"a":{}}}', /query_params\.a must be a text/],
  ['fetch', '{"path":"/","query_params":{"q":[]}}', /query_params\.q must be a text/],
  ['fetch', '{"path":"/","query_params":{"a":1,"a":2}}', /"a" is repeated/],
  ['fetch', String.raw`{"path":"/","query_params":{"a":"\ud800"}}`, /^query_params\.a must not contain an unpaired/],
  ['execute_state_change', `{${COMMANDED}}`, /^command is required$/],
  [
    'execute_state_change',
    String.raw`{"database":"a","state_change":"\udc00b","version":1,"command":{}}`,
    /^state_change must not contain an unpaired surrogate$/,
  ],
  ['execute_state_change', `{${COMMANDED},"command":null}`, /command must be an object; found null/],
  ['execute_state_change', `{${COMMANDED},"command":{"path":"a","path":"b"}}`, /"path" is repeated/],
  [
    'execute_state_change',
    '{"database":"a","state_change":"b","version":1.5,"command":{}}',
    /version must be an integer/,
  ],
  ['publish_component', `{${PUBLISHED},"wasm_base64":""}`, /component_type is required/],
  ['publish_component', `{${PUBLISHED},"wasm_base64":"x","component_type":"state_view"}`, /wasm_base64 must be base64/],
  ['publish_component', `{${PUBLISHED},"wasm_base64":"","component_type":"other"}`, /component_type must be one of/],
  [
    'publish_component',
    `{${PUBLISHED},"wasm_base64":"","component_type":"state_change","events":[]}`,
    /events is for a state_view/,
  ],
  [
    'publish_component',
    `{${PUBLISHED},"wasm_base64":"","component_type":"state_view","events":[5]}`,
    /events must be a list of texts; found an array/,
  ],
  [
    'publish_component',
    String.raw`{${PUBLISHED},"wasm_base64":"","component_type":"state_view","events":["\ud800"]}`,
    /^events must not contain an unpaired surrogate$/,
  ],
])('%s rejects %s', async (name, given, message) => {
  await expect(sentBy(name, given)).rejects.toThrow(message);
});

it.each([
  ['{"id":1,"id":2}', /"id" is repeated/],
  ['{"id":1', /the end/],
  [`${'['.repeat(257)}${']'.repeat(257)}`, /at most 256 levels/],
])('the message %s is rejected', (text, message) => {
  const read = readMessage(Buffer.from(text));
  expect(String(read.kind === 'fault' ? read.message : undefined)).toMatch(message);
});
