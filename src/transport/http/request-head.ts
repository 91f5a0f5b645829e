/**
 * What must be right about a request before its path or body means anything, and what neither Node nor fastify insists on
 * (RFC 9112, sections 3.2, 6.1 and 6.3). Where two readers of the same bytes could disagree, the request is refused.
 */
import type { FastifyRequest } from 'fastify';
import type { DatabaseError } from '#base';
import { invalidField } from './errors.ts';

/** Everything that a host and a port may consist of; lists and paths are none. */
const AUTHORITY = /^[\w.~!$&'()*+;=:%[\]-]*$/;

const ABSOLUTE = /^https?:\/\/[^/?#]*/i;

/** A header with one value, of which Node would keep one and drop the others. */
const SINGLE_HEADERS = ['host', 'content-type'];

/** The path and query of a target, which may name the server before them, as it does towards a proxy. */
export function originForm(target: string): string {
  const authority = ABSOLUTE.exec(target)?.[0];
  if (authority === undefined) return target;
  const rest = target.slice(authority.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** Whether the request asks what the server as a whole can do. */
export function isAboutServer({ method, originalUrl }: FastifyRequest): boolean {
  return method === 'OPTIONS' && originalUrl === '*';
}

/** What is wrong with request line and headers. */
export function headFault(request: FastifyRequest): DatabaseError | undefined {
  return hostFault(request) ?? targetFault(request) ?? framingFault(request) ?? repetitionFault(request);
}

/** HTTP/1.1 demands the header; Node would refuse without a body of ours. */
function hostFault({ raw: { headers, httpVersion } }: FastifyRequest): DatabaseError | undefined {
  const { host } = headers;
  if (host === undefined) return httpVersion === '1.1' ? invalidField('Host', 'must be sent with HTTP/1.1') : undefined;
  return AUTHORITY.test(host) ? undefined : invalidField('Host', 'must be a host and, optionally, a port', host);
}

function targetFault(request: FastifyRequest): DatabaseError | undefined {
  const { originalUrl: target, url } = request;
  if ((url.startsWith('/') || isAboutServer(request)) && !target.includes('#')) return undefined;
  return invalidField('request target', 'must be a path without fragment, or an http URL', target);
}

function framingFault({ raw: { headers, httpVersion } }: FastifyRequest): DatabaseError | undefined {
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  if (httpVersion !== '1.1') return invalidField('Transfer-Encoding', 'must not be sent with HTTP/1.0', coding);
  return coding.toLowerCase() === 'chunked' ? undefined : invalidField('Transfer-Encoding', 'must be chunked', coding);
}

function repetitionFault({ raw: { rawHeaders } }: FastifyRequest): DatabaseError | undefined {
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? '';
    if (!SINGLE_HEADERS.includes(name)) continue;
    if (seen.has(name)) return invalidField(name, 'must be sent once', rawHeaders[at + 1]);
    seen.add(name);
  }
  return undefined;
}
