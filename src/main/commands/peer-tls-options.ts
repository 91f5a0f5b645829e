/** Options for TLS at the peer port, for commands that connect to it: the three files, or the secret. */
import { failure, ok, type Result } from '#base';
import { variableName } from '../settings/setting.ts';
import type { PeerTlsFiles } from '../tls/peer-tls.ts';
import type { Environment } from './options.ts';

export const PEER_TLS_OPTIONS = {
  'peer-tls-ca-file': { type: 'string' },
  'peer-tls-cert-file': { type: 'string' },
  'peer-tls-key-file': { type: 'string' },
  'peer-secret-file': { type: 'string' },
} as const;

/** Help text of these options. */
export const PEER_TLS_HELP: string = `With TLS between nodes, the command needs a client certificate that the nodes accept, or their secret, unless the
environment has the variables of a node:
  --peer-tls-cert-file FILE         The certificate, followed by its intermediate certificates, in PEM.
  --peer-tls-key-file FILE          Its private key.
  --peer-tls-ca-file FILE           The certificate authorities of the nodes.
  --peer-secret-file FILE           Instead of the three files: the secret of the nodes.
`;

const NO_FILES: PeerTlsFiles = {
  peerTlsCertFile: 'none',
  peerTlsKeyFile: 'none',
  peerTlsCaFile: 'none',
  peerSecretFile: 'none',
};

type Given = { readonly [K in keyof typeof PEER_TLS_OPTIONS]?: string };

/**
 * Returns the files of the options, or else of the environment, such as that of a node in its container; undefined when
 * neither has any. The failure names missing options.
 */
export function readPeerTlsOptions(
  given: Given,
  environment: Environment = {},
): Result<PeerTlsFiles | undefined, string> {
  const { 'peer-tls-cert-file': cert, 'peer-tls-key-file': key, 'peer-tls-ca-file': ca } = given;
  const secret = given['peer-secret-file'];
  const isCertified = cert !== undefined || key !== undefined || ca !== undefined;
  if (secret !== undefined && isCertified)
    return failure('--peer-secret-file and --peer-tls-…-file are alternatives: give one of the two');
  if (secret !== undefined) return ok({ ...NO_FILES, peerSecretFile: secret });
  if (!isCertified) return ok(filesOf(environment));
  if (cert !== undefined && key !== undefined && ca !== undefined) {
    return ok({ ...NO_FILES, peerTlsCertFile: cert, peerTlsKeyFile: key, peerTlsCaFile: ca });
  }
  const lacking = Object.entries({ 'peer-tls-cert-file': cert, 'peer-tls-key-file': key, 'peer-tls-ca-file': ca })
    .filter(([, file]) => file === undefined)
    .map(([name]) => `--${name}`);
  return failure(`${lacking.join(' and ')} ${lacking.length > 1 ? 'are' : 'is'} missing; TLS needs all three files`);
}

function filesOf(environment: Environment): PeerTlsFiles | undefined {
  const of = (name: string): string => environment[variableName(name)] ?? 'none';
  const files = {
    peerTlsCertFile: of('peerTlsCertFile'),
    peerTlsKeyFile: of('peerTlsKeyFile'),
    peerTlsCaFile: of('peerTlsCaFile'),
    peerSecretFile: of('peerSecretFile'),
  };
  return files.peerTlsCertFile === 'none' && files.peerSecretFile === 'none' ? undefined : files;
}
