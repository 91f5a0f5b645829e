/**
 * Checks the head of a request for rules that neither Node nor fastify enforces (RFC 9112, sections 3.2, 6.1 and 6.3).
 * Heads that two parsers could read differently are refused.
 */
import { isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { DatabaseError } from '#base';
import { headerRule } from '../own-headers.ts';
import { invalidField } from './errors.ts';

/** A host name or address (IPv6 in brackets), optionally with a port. Delimiters are not allowed in names. */
const AUTHORITY = /^(?:\[([\da-f:.]+)\]|(?:[\w.~-]|%[\da-f]{2})+)(?::(\d*))?$/i;

const PORT_MAX = 65_535;

const ABSOLUTE = /^https?:\/\/([^/?#]*)/i;

/** Headers with one value. Node would drop or join repeated ones. */
const SINGLE_HEADERS: ReadonlyMap<string, string> = new Map(
  ['Host', 'Content-Type', 'x-batch-id', 'x-min-revision'].map((name) => [name.toLowerCase(), name]),
);

/** Path and query of a target, which may be absolute, as for a proxy. */
export function originForm(target: string): string {
  const authority = ABSOLUTE.exec(target)?.[0];
  if (authority === undefined) return target;
  const rest = target.slice(authority.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** Tells whether the request is `OPTIONS *`, about the whole server. */
export function isAboutServer({ method, originalUrl }: FastifyRequest): boolean {
  return method === 'OPTIONS' && originalUrl === '*';
}

/** The first fault of request line and headers. */
export function headFault(request: FastifyRequest): DatabaseError | undefined {
  return (
    versionFault(request) ?? hostFault(request) ?? targetFault(request) ?? framingFault(request) ?? namesFault(request)
  );
}

/** Node's parser accepts other versions, too, and treats them as one of these. */
function versionFault({ raw: { httpVersion } }: FastifyRequest): DatabaseError | undefined {
  if (httpVersion === '1.1' || httpVersion === '1.0') return undefined;
  return invalidField('HTTP version', 'must be 1.1 or 1.0', httpVersion);
}

/** HTTP/1.1 requires the header. Node would refuse the request without our error body. */
function hostFault({ raw: { headers, httpVersion } }: FastifyRequest): DatabaseError | undefined {
  const { host } = headers;
  if (host === undefined) return httpVersion === '1.1' ? invalidField('Host', 'must be sent with HTTP/1.1') : undefined;
  return host === '' || isAuthority(host)
    ? undefined
    : invalidField('Host', 'must be a host and, optionally, a port', host);
}

function isAuthority(text: string): boolean {
  const [isWhole, address, port] = AUTHORITY.exec(text) ?? [];
  if (isWhole === undefined || Number(port ?? 0) > PORT_MAX) return false;
  return address === undefined || isIPv6(address);
}

function targetFault(request: FastifyRequest): DatabaseError | undefined {
  const { originalUrl: target, url } = request;
  const isPath = url.startsWith('/') && isAuthority(ABSOLUTE.exec(target)?.[1] ?? 'localhost');
  if ((isPath || isAboutServer(request)) && !target.includes('#')) return undefined;
  return invalidField('request target', 'must be a path without fragment, or an http URL', target);
}

function framingFault({ raw: { headers, httpVersion } }: FastifyRequest): DatabaseError | undefined {
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  if (httpVersion !== '1.1') return invalidField('Transfer-Encoding', 'must not be sent with HTTP/1.0', coding);
  return coding.toLowerCase() === 'chunked' ? undefined : invalidField('Transfer-Encoding', 'must be chunked', coding);
}

/** An unknown header of ours, or a repeated header that may have one value. */
function namesFault({ raw: { rawHeaders } }: FastifyRequest): DatabaseError | undefined {
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const lower = rawHeaders[at]?.toLowerCase() ?? '';
    const rule = headerRule(lower);
    if (rule !== undefined) return invalidField(lower, rule, rawHeaders[at + 1]);
    const name = SINGLE_HEADERS.get(lower);
    if (name === undefined) continue;
    if (seen.has(name)) return invalidField(name, 'must be sent once', rawHeaders[at + 1]);
    seen.add(name);
  }
  return undefined;
}
