/** The settings of TLS between nodes. */
import { oneOf, plainText, type Setting, wordOr } from './setting.ts';

export interface PeerTlsSettings {
  readonly peerTlsCertFile: string;
  readonly peerTlsKeyFile: string;
  readonly peerTlsCaFile: string;
  readonly peerSecretFile: string;
  readonly peerTls: 'require' | 'prefer' | 'off';
}

export const PEER_TLS_SETTINGS: { readonly [K in keyof PeerTlsSettings]: Setting<PeerTlsSettings[K]> } = {
  peerTlsCertFile: {
    type: wordOr('none', plainText('a file', 4096)),
    default: 'none',
    help: 'The certificate of this node towards other nodes in PEM, and behind it those that lead to its authority, for servers and clients, and for advertise-host: peer-port then speaks TLS 1.3, and lets in nobody without a certificate of peer-tls-ca-file. A file that is replaced is used within seconds. none: it speaks no TLS.',
  },
  peerTlsKeyFile: {
    type: wordOr('none', plainText('a file', 4096)),
    default: 'none',
    help: 'The private key of that certificate in PEM, without a passphrase.',
  },
  peerTlsCaFile: {
    type: wordOr('none', plainText('a file', 4096)),
    default: 'none',
    help: 'The authorities, in PEM, by whose certificates nodes and operators are let in at peer-port, and other nodes are known. Whoever has one may do there whatever a node may: let them sign for nothing else.',
  },
  peerSecretFile: {
    type: wordOr('none', plainText('a file', 4096)),
    default: 'none',
    help: 'Instead of certificates: a file with one line, a secret of at least 32 characters, the same on every node. peer-port then uses TLS and refuses clients without the secret. Read at the start. none: peers show certificates, or nothing.',
  },
  peerTls: {
    type: oneOf(['require', 'prefer', 'off']),
    default: 'require',
    help: 'TLS at peer-port. require: every connection needs TLS, with peer-tls-cert-file or peer-secret-file. prefer: connections without TLS are accepted too, and nodes without TLS are dialled without it; for changing a running cluster to TLS or back, node by node. off: allows auth=on without peer-tls-cert-file and peer-secret-file; every client that reaches the port then has all rights.',
  },
};
