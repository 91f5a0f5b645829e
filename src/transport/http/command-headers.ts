/**
 * Headers of a request that the component of its command receives. Credentials are left out: a component is code of a
 * user, and may write what it receives into events. Headers of the connection and of this server are left out, because
 * they differ when the command is sent again or relayed.
 */
import { decodeUtf8 } from '#base';
import type { Pairs } from '#model';
import { namedIn, OF_A_CONNECTION } from '../own-headers.ts';
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
  // Tokens and assertions of gateways. The component does receive the names that they established.
  'cf-access-jwt-assertion',
  'x-amzn-oidc-accesstoken',
  'x-amzn-oidc-data',
  'x-auth-request-access-token',
  'x-forwarded-access-token',
  'x-goog-iap-jwt-assertion',
];
/** Headers of the body as sent. The command in it has its own content type. */
const OF_THE_BODY = ['content-encoding', 'content-length', 'content-type'];
const OF_CAIRN = [BATCH_ID, LAST_SEEN, 'x-min-revision', RELAYED, SHOWN];

/** Tokens of Azure gateways, and headers between nodes, which may prove that the sender is a node. */
const PREFIXES = ['x-ms-token-', 'x-cairn-'];

const LEFT_OUT: ReadonlySet<string> = new Set([...PROOFS, ...OF_A_CONNECTION, 'host', ...OF_THE_BODY, ...OF_CAIRN]);

/** In the order received, with lowercase names. */
export function commandHeaders(request: HttpRequest): Pairs {
  const { inputs } = request.privacy();
  // Any of them may identify a client here.
  if (inputs === undefined) return [];
  const proofs = new Set(inputs.map((name) => name.toLowerCase()));
  const ofConnection = namedIn(request.header('connection'));
  return (
    request
      .headers()
      // Node decodes header bytes as Latin-1. Most clients with bytes beyond ASCII send UTF-8.
      .map(([name, value]) => [name.toLowerCase(), decodeUtf8(Buffer.from(value, 'latin1')) ?? value] as const)
      .filter(([name]) => !LEFT_OUT.has(name) && !ofConnection.has(name) && !proofs.has(name))
      .filter(([name]) => !PREFIXES.some((prefix) => name.startsWith(prefix)))
  );
}
