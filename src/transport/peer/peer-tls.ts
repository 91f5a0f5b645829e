/**
 * TLS between nodes: credentials, verification of peers, and explanations of failed handshakes.
 *
 * Both sides show a certificate of the authority of peers, and the dialling side checks that it is for the host that it
 * dialled. This proves that the other side may be a peer, not which node it is: frames name the node (TP3).
 */
import { connect, isIP, type Socket } from 'node:net';
import type { SecureContext, SecureContextOptions, TLSSocket, TlsOptions } from 'node:tls';
import { type Address, formatAddress } from '#base';
import type { DialledAddress } from '#cluster';
import type { LaneWorld } from './wire.ts';

export type PeerTlsMaterial = PeerCertificates | PeerSecret;

/** 32 bytes, for TLS without certificates (PSK, with ephemeral keys). */
export interface PeerSecret {
  readonly secret: Uint8Array;
}

/** In PEM. */
export interface PeerCertificates {
  /** The certificate of this side, with the chain to its authority. */
  readonly cert: string;
  readonly key: string;
  /** Authority of the certificates of peers. */
  readonly ca: string;
}

/**
 * require: only TLS. prefer: a node without TLS is answered, too, and dialled without it, while a cluster is changed
 * from one to the other.
 */
export type PeerTlsMode = 'require' | 'prefer';

export const SPEAKS_TLS: string =
  'this port speaks TLS, and lets in peers alone; ask it with --peer-tls-cert-file, --peer-tls-key-file and ' +
  '--peer-tls-ca-file, or --peer-secret-file, as its node has them';
export const SPEAKS_NO_TLS: string =
  'that port speaks no TLS; start its node with --peer-tls-cert-file, --peer-tls-key-file and --peer-tls-ca-file, or ' +
  '--peer-secret-file, or leave them out here';

/** Time for which a node that did not speak TLS is dialled without it (`prefer`). */
const PLAIN_MS = 2_000;
/** Maximum number of remembered addresses; an unknown connection could name any. */
const PLAIN_MAX = 1_000;
/** OpenSSL gives this reason only in its message when it was writing. */
const NO_TLS = /wrong version number|packet length too long/;
const OF_TLS = /^(?:ERR_SSL_|EPROTO$)/;
/** With different secrets the first record does not verify; OpenSSL reports it in the code or only in the message. */
const BAD_RECORD = /bad[ _]record[ _]mac/i;
export const OTHER_SECRET = 'that node has another --peer-secret-file';

export class PeerTls {
  readonly mode: PeerTlsMode;
  #material: PeerTlsMaterial;
  #context: SecureContext | undefined;
  readonly #plainUntilMs = new Map<string, number>();

  constructor(material: PeerTlsMaterial, mode: PeerTlsMode = 'require') {
    this.#material = material;
    this.mode = mode;
  }

  /** Applies to new connections; open ones continue. */
  use(material: PeerTlsMaterial): void {
    this.#material = material;
    this.#context = undefined;
  }

  /** The same object until the material is replaced. */
  get material(): PeerTlsMaterial {
    return this.#material;
  }

  /** Starts TLS on a connection being dialled, and verifies the other side before anything is sent. */
  secured(socket: Socket, host: string): TLSSocket {
    const tls = process.getBuiltinModule('node:tls');
    const material = this.#material;
    this.#context ??= tls.createSecureContext(contextOf(material));
    if (isSecret(material)) {
      const psk = Buffer.from(material.secret);
      const pskCallback = (): { readonly identity: string; readonly psk: Buffer } => ({ identity: PSK_IDENTITY, psk });
      // A node with the secret is a peer, at any host.
      const checkServerIdentity = (): undefined => undefined;
      return tls.connect({ socket, ...PSK_OPTIONS, ALPNProtocols: ['h2'], pskCallback, checkServerIdentity });
    }
    const servername = isIP(host) === 0 ? { servername: host } : {};
    return tls.connect({ socket, host, ...servername, ALPNProtocols: ['h2'], secureContext: this.#context });
  }

  /** Tells whether the node there recently did not use TLS, and may do so. */
  isPlain(target: Address): boolean {
    return (this.#plainUntilMs.get(formatAddress(target)) ?? 0) > performance.now();
  }

  /** Why the next attempt to reach that address would fail equally; undefined: it may succeed, or goes without TLS. */
  refusalIn(failure: Error, target: Address): string | undefined {
    const fault = faultIn(failure, target);
    if (fault !== SPEAKS_NO_TLS || this.mode === 'require') return fault;
    if (this.#plainUntilMs.size >= PLAIN_MAX) this.#plainUntilMs.clear();
    this.#plainUntilMs.set(formatAddress(target), performance.now() + PLAIN_MS);
    return undefined;
  }
}

export function isSecret(material: PeerTlsMaterial): material is PeerSecret {
  return 'secret' in material;
}

const PSK_IDENTITY = 'cairn';
/** Node supports pre-shared keys with TLS 1.2 only. */
const PSK_OPTIONS = { ciphers: 'ECDHE-PSK-CHACHA20-POLY1305', minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' } as const;

/** Older versions are refused, and each connection verifies the certificate again: it may have expired. */
export function contextOf(material: PeerTlsMaterial): SecureContextOptions {
  const { SSL_OP_NO_TICKET: secureOptions } = process.getBuiltinModule('node:crypto').constants;
  if (isSecret(material)) return { ...PSK_OPTIONS, secureOptions };
  const { cert, key, ca } = material;
  return { cert, key, ca, minVersion: 'TLSv1.3', secureOptions };
}

/** TLS options with which a server verifies that a client is a peer. They follow the secret when it is replaced. */
export function serverOptionsOf(tls: PeerTls): TlsOptions {
  const options = contextOf(tls.material);
  // The door reports invalid certificates: OpenSSL would use a term of its own, and Node would report nothing.
  if (!isSecret(tls.material)) return { ...options, requestCert: true, rejectUnauthorized: false };
  const pskCallback = (_socket: TLSSocket, identity: string): Buffer | null =>
    identity === PSK_IDENTITY && isSecret(tls.material) ? Buffer.from(tls.material.secret) : null;
  return { ...options, pskCallback };
}

/** Dials a node, with TLS where it is used. Throws for an invalid address. */
export function dialled(target: DialledAddress, tls?: PeerTls): Socket {
  const { host, port, ip = host } = target;
  if (host === '') throw new Error('there is no host');
  const socket = connect({ host: ip, port, noDelay: true });
  return tls === undefined || tls.isPlain(target) ? socket : tls.secured(socket, host);
}

/** The same environment, with secured connections. */
export function securedWorld(world: LaneWorld, tls: PeerTls): LaneWorld {
  return {
    ...world,
    connect: (target) => dialled(target, tls),
    refusalIn: (failure, target) => tls.refusalIn(failure, target),
  };
}

/** Tells whether the two ends of a connection have different peer secrets. */
export function hasOtherSecret(failure: Error): boolean {
  return BAD_RECORD.test(failure.message) || ('code' in failure && BAD_RECORD.test(String(failure.code)));
}

/** Undefined for failures outside TLS. */
function faultIn(failure: Error, target: Address): string | undefined {
  const { message } = failure;
  const code = 'code' in failure && typeof failure.code === 'string' ? failure.code : '';
  if (NO_TLS.test(message)) return SPEAKS_NO_TLS;
  if (hasOtherSecret(failure)) return OTHER_SECRET;
  if (OF_TLS.test(code)) return `the handshake of TLS failed: ${message.trim()}`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `its certificate is not for ${target.host}, by which it was dialled: ${message}`;
  }
  // System errors have a syscall; the remaining ones are OpenSSL's reasons for a certificate.
  if (code === '' || 'syscall' in failure || code.startsWith('ERR_') || code === 'ECONNRESET') return undefined;
  return `its certificate is not one of --peer-tls-ca-file, or is not valid: ${message} (${code})`;
}
