/** Converts requests to HTTP paths and bodies, in the forms of the specification. */
import type { Request, RequestOf } from '../model/vocabulary.ts';
import { collectionQuery, constraintJson, eventJson, scopedQuery, writeJson } from './http-json.ts';
import { type HttpCall, malformedRequest } from './malformed.ts';
import { STATE_CHANGE_BASE64 } from './state-change.ts';

const ROUTES: Readonly<Record<string, string>> = { stream: 'streams', subject: 'subjects', type: 'event-types' };

export function callOf(request: Request): HttpCall {
  const { database } = request;
  const name = encodeURIComponent(database);
  switch (request.kind) {
    case 'create': {
      const isCollection = request.via === 'POST /databases';
      return post(isCollection ? '/databases' : '/api/v1/db', { [isCollection ? 'name' : 'database_name']: database });
    }
    case 'delete': {
      const path = request.via === 'DELETE /databases' ? `/databases/${name}` : `/api/v1/db/${name}`;
      return { method: 'DELETE', path: `${path}${parameters({ database_id: request.id })}` };
    }
    case 'publish': {
      const kind = { component_type: 'state_change', name: 'c', version: 1, content_type: 'text/plain' };
      return tool('publish_component', { database, ...kind, wasm_base64: STATE_CHANGE_BASE64 });
    }
    case 'transact':
      return transactCall(request, name);
    case 'query':
      return queryCall(request, name);
    case 'next': {
      const { body: paged, next } = request.saved;
      return paged === undefined
        ? get(next)
        : { ...post(`/databases/${name}/query`, { ...paged, after: next }), paged };
    }
    case 'scan': {
      const direction = request.isReverse ? 'reverse' : undefined;
      return get(`/databases/${name}/events${parameters({ after: request.start, direction, limit: request.limit })}`);
    }
    case 'database': {
      const segment = { 'GET /db/{db}/latest': 'latest', 'GET /db/{db}/cached': 'cached' }[request.via] ?? request.at;
      return get(request.via === 'GET /databases/{db}' ? `/databases/${name}` : `/db/${name}/${segment}`);
    }
    case 'event': {
      const { at, position, stream = '', id = '', via } = request;
      const place = `events/${position?.revision}${parameters({ index: position?.index })}`;
      if (via === 'GET log event') return get(`/databases/${name}/${place}`);
      return get(
        `/db/${name}/${at}/${via === 'GET event' ? place : `events/${encodeURIComponent(stream)}/${encodeURIComponent(id)}`}`,
      );
    }
    case 'names': {
      const { at, listing, prefix, after, limit } = request;
      return get(`/db/${name}/${at}/${listing}${parameters({ prefix, after, limit })}`);
    }
    case 'lookup':
      return get(`/api/v1/db/${name}/transaction/${encodeURIComponent(request.id)}`);
    case 'catalog':
      return get(request.via === 'GET /' ? '/' : '/databases');
    case 'malformed':
      return malformedRequest(request.via, database);
    case 'subscribe':
      throw new Error('HTTP has no subscriptions');
  }
}

function transactCall({ database, via, events, constraints, id }: RequestOf<'transact'>, name: string): HttpCall {
  const command = { method: 'POST', path: '/' };
  if (via === 'POST execute') return post(`/api/v1/db/${name}/state-changes/c/v1/execute`, command);
  if (via === 'tool execute_state_change')
    return tool('execute_state_change', { database, state_change: 'c', version: 1, command });
  const isCollection = via === 'POST /databases/{db}/events';
  const conditions = constraints.length === 0 ? undefined : constraints.map(constraintJson);
  const body = {
    transaction_id: id,
    events: events.map(eventJson),
    [isCollection ? 'constraints' : 'conditions']: conditions,
  };
  return post(isCollection ? `/databases/${name}/events` : `/api/v1/db/${name}`, body);
}

function queryCall({ via, query }: RequestOf<'query'>, name: string): HttpCall {
  const { selectors, start, end, at, limit, isReverse } = query;
  const direction = isReverse ? 'reverse' : undefined;
  if (via === 'POST query') {
    const { after, ...paged } = collectionQuery(query);
    return { ...post(`/databases/${name}/query`, { ...paged, after }), paged };
  }
  if (via === 'GET events?q') {
    return get(`/db/${name}/${at}/events?q=${Buffer.from(writeJson(scopedQuery(query))).toString('base64url')}`);
  }
  const [selector] = selectors;
  if (via === 'GET one' && selector !== undefined && 'value' in selector) {
    const path = `/db/${name}/${at}/${ROUTES[selector.kind]}/${encodeURIComponent(selector.value)}`;
    return get(`${path}${parameters({ direction, limit })}`);
  }
  const parts = selector === undefined ? [] : 'parts' in selector ? selector.parts : [selector];
  const filters = Object.fromEntries(parts.map((part) => [part.kind, 'value' in part ? part.value : '']));
  return get(`/db/${name}/${at}/events${parameters({ ...filters, start, end, direction, limit })}`);
}

function get(path: string): HttpCall {
  return { method: 'GET', path };
}

function post(path: string, body: object): HttpCall {
  return { method: 'POST', path, body: writeJson(body) };
}

/** Call of an MCP tool with its arguments. */
function tool(name: string, given: object): HttpCall {
  return { method: 'tool', path: name, body: JSON.stringify(given) };
}

function parameters(values: Readonly<Record<string, string | number | bigint | undefined>>): string {
  const given = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}
