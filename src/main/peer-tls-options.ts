/** The options by which commands that ask at the port of peers speak TLS there; all three, or none. */
import { failure, ok, type Result } from '#base';
import type { PeerTlsFiles } from './peer-tls.ts';

export const PEER_TLS_OPTIONS = {
  'peer-tls-ca-file': { type: 'string' },
  'peer-tls-cert-file': { type: 'string' },
  'peer-tls-key-file': { type: 'string' },
  'peer-secret-file': { type: 'string' },
} as const;

/** For their help. */
export const PEER_TLS_HELP: string = `Where nodes speak TLS to each other, the command shows a certificate of theirs, for clients:
  --peer-tls-cert-file FILE         The certificate, and those that lead to its authority, in PEM.
  --peer-tls-key-file FILE          Its private key.
  --peer-tls-ca-file FILE           The authorities of the certificates of nodes, as the nodes have them.
  --peer-secret-file FILE           Instead of the three: the secret that the nodes share.
`;

const NO_FILES: PeerTlsFiles = {
  peerTlsCertFile: 'none',
  peerTlsKeyFile: 'none',
  peerTlsCaFile: 'none',
  peerSecretFile: 'none',
};

type Given = { readonly [K in keyof typeof PEER_TLS_OPTIONS]?: string };

/** Undefined: none is given. The failure says which are lacking. */
export function readPeerTlsOptions(given: Given): Result<PeerTlsFiles | undefined, string> {
  const { 'peer-tls-cert-file': cert, 'peer-tls-key-file': key, 'peer-tls-ca-file': ca } = given;
  const secret = given['peer-secret-file'];
  const isCertified = cert !== undefined || key !== undefined || ca !== undefined;
  if (secret !== undefined && isCertified)
    return failure('--peer-secret-file stands instead of --peer-tls-…-file: give one of the two');
  if (secret !== undefined) return ok({ ...NO_FILES, peerSecretFile: secret });
  if (cert === undefined && key === undefined && ca === undefined) return ok(undefined);
  if (cert !== undefined && key !== undefined && ca !== undefined) {
    return ok({ ...NO_FILES, peerTlsCertFile: cert, peerTlsKeyFile: key, peerTlsCaFile: ca });
  }
  const lacking = Object.entries({ 'peer-tls-cert-file': cert, 'peer-tls-key-file': key, 'peer-tls-ca-file': ca })
    .filter(([, file]) => file === undefined)
    .map(([name]) => `--${name}`);
  return failure(`${lacking.join(' and ')} ${lacking.length > 1 ? 'are' : 'is'} missing; TLS takes all three files`);
}
