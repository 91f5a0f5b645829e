/**
 * Requests that every interface must refuse with `invalid_argument`, regardless of the content of a database, by name.
 */
/** An HTTP request in the form that is sent. */
export interface HttpCall {
  readonly method: string;
  readonly path: string;
  readonly body?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body without a cursor, if the answer may have one. */
  readonly paged?: Record<string, unknown>;
}

const EVENT = '{"id":"m","source":"s","specversion":"1.0","type":"t"}';

/** Path below the database, and body. */
const BODIES: Readonly<Record<string, readonly [path: string, body: string]>> = {
  'POST no JSON': ['events', '{"events":['],
  'POST trailing text': ['events', `{"events":[${EVENT}]} x`],
  'POST a list': ['events', `[${EVENT}]`],
  'POST unknown member': ['events', `{"events":[${EVENT}],"condition":[]}`],
  'POST constraints twice': ['events', `{"events":[${EVENT}],"constraints":[],"constraints":[]}`],
  'POST both words for constraints': ['events', `{"events":[${EVENT}],"constraints":[],"conditions":[]}`],
  'POST events that are an object': ['events', `{"events":${EVENT}}`],
  'POST event with a name twice': ['events', `{"events":[{"id":"a",${EVENT.slice(1)}]}`],
  'POST event with data and data_base64': ['events', `{"events":[{"data":1,"data_base64":"AA==",${EVENT.slice(1)}]}`],
  'POST constraint of an unknown kind': ['events', `{"events":[${EVENT}],"constraints":[{"least":{"revision":1}}]}`],
  'POST constraint without a revision': ['events', `{"events":[${EVENT}],"constraints":[{"min_revision":{}}]}`],
  'POST negative revision': ['events', `{"events":[${EVENT}],"constraints":[{"max":{"revision":-1}}]}`],
  'POST revision of 2^64': [
    'events',
    `{"events":[${EVENT}],"constraints":[{"max":{"revision":18446744073709551616}}]}`,
  ],
  'POST revision as text': ['events', `{"events":[${EVENT}],"constraints":[{"max":{"revision":"one"}}]}`],
  'POST query unknown member': ['query', '{"selector":{}}'],
  'POST query unknown attribute': ['query', '{"selectors":[{"kind":"t"}]}'],
  'POST query empty and': ['query', '{"selectors":[{"and":[]}]}'],
  'POST query limit of 0': ['query', '{"limit":0}'],
  'POST query limit of 1001': ['query', '{"limit":1001}'],
  'POST query fraction': ['query', '{"revision_range":{"start":1.5}}'],
  'POST query direction': ['query', '{"direction":"up"}'],
  'POST query after a number': ['query', '{"after":1}'],
  'POST query after no cursor': ['query', '{"after":"AQ"}'],
  'POST query impossible time': ['query', '{"effective_time_range":{"end":"2026-02-30T00:00:00Z"}}'],
};

const PATHS: Readonly<Record<string, string>> = {
  'GET revision with a sign': '/db/{db}/-1',
  'GET revision of 2^64': '/db/{db}/18446744073709551616/events',
  'GET revision with a zero': '/db/{db}/01',
  'GET q that is no base64': '/db/{db}/0/events?q=*',
  'GET q beside limit': '/db/{db}/0/events?q=e30&limit=1',
  'GET q twice': '/db/{db}/0/events?q=e30&q=e30',
  'GET limit of 0': '/db/{db}/0/events?limit=0',
  'GET limit of 1001': '/db/{db}/0/streams?limit=1001',
  'GET direction': '/databases/{db}/events?direction=up',
  'GET after no cursor': '/databases/{db}/events?after=-1',
  'GET index with a sign': '/db/{db}/0/events/1?index=-1',
  'GET half an escape': '/db/{db}/0/streams/%E9',
  'GET empty range': '/db/{db}/0/events?start=2&end=1',
};

/** MCP tools with invalid arguments. */
const TOOLS: Readonly<Record<string, readonly [tool: string, given: string]>> = {
  'tool that is unknown': ['query', '{"path":"/"}'],
  'tool fetch by PUT': ['fetch', '{"method":"PUT","path":"/databases/{db}"}'],
  'tool fetch with an unknown argument': ['fetch', '{"path":"/","accept":"text/html"}'],
  'tool fetch with a path twice': ['fetch', '{"path":"/","path":"/databases"}'],
  'tool fetch of another host': ['fetch', '{"path":"//h.example/"}'],
  'tool execute without a command': ['execute_state_change', '{"database":"{db}","state_change":"c","version":1}'],
  'tool execute version 0': ['execute_state_change', '{"database":"{db}","state_change":"c","version":0,"command":{}}'],
  'tool publish without a version': [
    'publish_component',
    '{"database":"{db}","component_type":"state_view","name":"v","content_type":"text/plain","wasm_base64":"AA=="}',
  ],
};

export const MALFORMED_REQUESTS: readonly string[] = [BODIES, PATHS, TOOLS].flatMap(Object.keys);

/** For a tool, the path is its name and the body its arguments. */
export function malformedRequest(name: string, database: string): HttpCall {
  const [path, body] = BODIES[name] ?? [];
  if (path !== undefined) return { method: 'POST', path: `/databases/${database}/${path}`, body };
  const [tool, given = ''] = TOOLS[name] ?? [];
  if (tool !== undefined) return { method: 'tool', path: tool, body: given.replace('{db}', database) };
  return { method: 'GET', path: (PATHS[name] ?? '').replace('{db}', database) };
}
