/** Settings of TLS between nodes. */
import { oneOf, optionalFile, type Setting } from './setting.ts';

export interface PeerTlsSettings {
  readonly peerTlsCertFile: string;
  readonly peerTlsKeyFile: string;
  readonly peerTlsCaFile: string;
  readonly peerSecretFile: string;
  readonly peerTls: 'require' | 'prefer' | 'off';
}

export const PEER_TLS_SETTINGS: { readonly [K in keyof PeerTlsSettings]: Setting<PeerTlsSettings[K]> } = {
  peerTlsCertFile: optionalFile(
    'Certificate of this node for peers in PEM, followed by its intermediate certificates, valid for servers, for clients and for advertise-host. With it, peer-port uses TLS 1.3 and refuses clients without a certificate signed by peer-tls-ca-file. A replaced file is used within seconds. none: no certificate.',
  ),
  peerTlsKeyFile: optionalFile('Private key of peer-tls-cert-file in PEM, without a passphrase.'),
  peerTlsCaFile: optionalFile(
    'Certificate authorities, in PEM, that sign the certificates of nodes and of operators for peer-port. Every holder of such a certificate has all rights of a node, so these authorities should sign nothing else.',
  ),
  peerSecretFile: optionalFile(
    'Alternative to certificates: a file with one line, a secret of at least 32 characters, the same on every node. peer-port then uses TLS and refuses clients without the secret. A replaced file is used within seconds. none: no secret.',
  ),
  peerTls: {
    type: oneOf(['require', 'prefer', 'off']),
    default: 'require',
    help: 'TLS at peer-port. require: every connection needs TLS, with peer-tls-cert-file or peer-secret-file. prefer: connections without TLS are accepted too, and nodes without TLS are dialled without it; for changing a running cluster to TLS or back, node by node. off: allows auth=on without peer-tls-cert-file and peer-secret-file; every client that reaches the port then has all rights.',
  },
};
