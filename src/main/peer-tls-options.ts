/** The options by which commands that ask at the port of peers speak TLS there; all three, or none. */
import { failure, ok, type Result } from '#base';
import type { PeerTlsFiles } from './peer-tls.ts';

export const PEER_TLS_OPTIONS = {
  'peer-tls-ca-file': { type: 'string' },
  'peer-tls-cert-file': { type: 'string' },
  'peer-tls-key-file': { type: 'string' },
} as const;

/** For their help. */
export const PEER_TLS_HELP: string = `Where nodes speak TLS to each other, the command shows a certificate of theirs, for clients:
  --peer-tls-cert-file FILE         The certificate, and those that lead to its authority, in PEM.
  --peer-tls-key-file FILE          Its private key.
  --peer-tls-ca-file FILE           The authorities of the certificates of nodes, as the nodes have them.
`;

type Given = { readonly [K in keyof typeof PEER_TLS_OPTIONS]?: string };

/** Undefined: none is given. The failure says which are lacking. */
export function readPeerTlsOptions(given: Given): Result<PeerTlsFiles | undefined, string> {
  const { 'peer-tls-cert-file': cert, 'peer-tls-key-file': key, 'peer-tls-ca-file': ca } = given;
  if (cert === undefined && key === undefined && ca === undefined) return ok(undefined);
  if (cert !== undefined && key !== undefined && ca !== undefined) {
    return ok({ peerTlsCertFile: cert, peerTlsKeyFile: key, peerTlsCaFile: ca });
  }
  const lacking = Object.entries({ 'peer-tls-cert-file': cert, 'peer-tls-key-file': key, 'peer-tls-ca-file': ca })
    .filter(([, file]) => file === undefined)
    .map(([name]) => `--${name}`);
  return failure(`${lacking.join(' and ')} ${lacking.length > 1 ? 'are' : 'is'} missing; TLS takes all three files`);
}
