/**
 * The headers that a command has: those of its request that say something of what is asked, for which a component may
 * have a use. It is not told by what somebody proves who it is: that is for whoever has let the request in, and a
 * component is anybody's code, what it is told may end in events. Nor is it told what is of a connection or of this
 * server alone, and is not the same when a command is sent again, or on by another node.
 */
import { decodeUtf8 } from '#base';
import type { Pairs } from '#model';
import { RELAYED, SHOWN } from '../relay.ts';
import type { HttpRequest } from './request.ts';

export const BATCH_ID = 'x-batch-id';
export const LAST_SEEN = 'x-last-seen-revision';

const PROOFS = [
  'authorization',
  'cookie',
  'proxy-authorization',
  'x-api-key',
  // Certificates of clients.
  'client-cert',
  'client-cert-chain',
  'x-forwarded-client-cert',
  // Tokens and assertions of gateways; the names that these have found out are not among them.
  'cf-access-jwt-assertion',
  'x-amzn-oidc-accesstoken',
  'x-amzn-oidc-data',
  'x-auth-request-access-token',
  'x-forwarded-access-token',
  'x-goog-iap-jwt-assertion',
];
const OF_A_CONNECTION = [
  'connection',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
/** Of the body as it was sent: what is the command of it has a content type that is given by itself. */
const OF_THE_BODY = ['content-encoding', 'content-length', 'content-type'];
const OF_CAIRN = [BATCH_ID, LAST_SEEN, 'x-min-revision', RELAYED, SHOWN];

/** Tokens of Azure's gateways, and what nodes say to each other: some of it proves that they are nodes. */
const PREFIXES = ['x-ms-token-', 'x-cairn-'];

const LEFT_OUT: ReadonlySet<string> = new Set([...PROOFS, ...OF_A_CONNECTION, ...OF_THE_BODY, ...OF_CAIRN]);

/** In the order in which they came, with names in small letters. */
export function commandHeaders(request: HttpRequest): Pairs {
  const { inputs } = request.privacy();
  // Any of them may be the one by which somebody is known here.
  if (inputs === undefined) return [];
  const proofs = new Set(inputs.map((name) => name.toLowerCase()));
  const ofConnection = new Set(
    request
      .header('connection')
      ?.toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  );
  return request
    .headers()
    .map(([name, value]) => [name.toLowerCase(), textOf(value)] as const)
    .filter(([name]) => !LEFT_OUT.has(name) && !ofConnection.has(name) && !proofs.has(name))
    .filter(([name]) => !PREFIXES.some((prefix) => name.startsWith(prefix)));
}

/** Node gives bytes as characters; most who send others than those of ASCII mean UTF-8. */
function textOf(value: string): string {
  return decodeUtf8(Buffer.from(value, 'latin1')) ?? value;
}
