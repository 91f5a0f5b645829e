/**
 * TLS between nodes: what this side shows, whom it takes for a peer, and why two do not come together.
 *
 * Both sides show a certificate of the authority of peers, and the dialling side checks that it is for the host that it
 * dialled. That shows that the other side may be a peer, and not which node it is: frames say that (TP3).
 */
import { connect, isIP, type Socket } from 'node:net';
import type { SecureContext, SecureContextOptions, TLSSocket, TlsOptions } from 'node:tls';
import { type Address, formatAddress } from '#base';
import type { DialledAddress } from '#cluster';
import type { LaneWorld } from './wire.ts';

/** What two peers have to show to each other: a certificate each, or that they know the same secret. */
export type PeerTlsMaterial = PeerCertificates | PeerSecret;

/** 32 bytes, by which TLS is spoken without certificates (PSK, with ephemeral keys). */
export interface PeerSecret {
  readonly secret: Uint8Array;
}

/** In PEM. */
export interface PeerCertificates {
  /** The certificate that is shown, and those that lead to its authority. */
  readonly cert: string;
  readonly key: string;
  /** Whose certificates are those of peers. */
  readonly ca: string;
}

/**
 * require: nothing but TLS. prefer: a node that speaks none is answered, too, and dialled without it, as long as a
 * cluster is changed from the one to the other.
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
/** Addresses that are remembered; strangers could name any. */
const PLAIN_MAX = 1_000;
/** OpenSSL has the word only in its message when it was writing. */
const NO_TLS = /wrong version number|packet length too long/;
const OF_TLS = /^(?:ERR_SSL_|EPROTO$)/;
/** With different secrets the first record does not verify, which OpenSSL says in the code or only in the message. */
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

  /** From the next connection on; those that are open go on. */
  use(material: PeerTlsMaterial): void {
    this.#material = material;
    this.#context = undefined;
  }

  /** The same object until there is other material. */
  get material(): PeerTlsMaterial {
    return this.#material;
  }

  /** Shakes hands over a connection that is being dialled, and verifies who answers before anything is sent. */
  secured(socket: Socket, host: string): TLSSocket {
    const tls = process.getBuiltinModule('node:tls');
    const material = this.#material;
    this.#context ??= tls.createSecureContext(contextOf(material));
    if (isSecret(material)) {
      const psk = Buffer.from(material.secret);
      const pskCallback = (): { readonly identity: string; readonly psk: Buffer } => ({ identity: PSK_IDENTITY, psk });
      // Who knows the secret is a peer, at whatever host.
      const checkServerIdentity = (): undefined => undefined;
      return tls.connect({ socket, ...PSK_OPTIONS, ALPNProtocols: ['h2'], pskCallback, checkServerIdentity });
    }
    const servername = isIP(host) === 0 ? { servername: host } : {};
    return tls.connect({ socket, host, ...servername, ALPNProtocols: ['h2'], secureContext: this.#context });
  }

  /** Dials for a lane. */
  dial(target: DialledAddress): Socket {
    const { host, port, ip = host } = target;
    const socket = connect({ host: ip, port, noDelay: true });
    return this.isPlain(target) ? socket : this.secured(socket, target.host);
  }

  /** Whether the node there did not speak TLS just now, and may do so. */
  isPlain(target: Address): boolean {
    return (this.#plainUntilMs.get(formatAddress(target)) ?? 0) > performance.now();
  }

  /**
   * Why the next attempt to reach that address would fail as this one did; undefined: it may not, or goes without TLS.
   */
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
/** Node takes a secret that is shared beforehand with TLS 1.2 alone. */
const PSK_OPTIONS = { ciphers: 'ECDHE-PSK-CHACHA20-POLY1305', minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' } as const;

/** Nothing older is spoken, and each connection shows a certificate again: it may have expired. */
export function contextOf(material: PeerTlsMaterial): SecureContextOptions {
  const { SSL_OP_NO_TICKET: secureOptions } = process.getBuiltinModule('node:crypto').constants;
  if (isSecret(material)) return { ...PSK_OPTIONS, secureOptions };
  const { cert, key, ca } = material;
  return { cert, key, ca, minVersion: 'TLSv1.3', secureOptions };
}

/** How a server finds out whether a client is a peer. */
export function serverOptionsOf(material: PeerTlsMaterial): TlsOptions {
  // The door says what is wrong with a certificate: OpenSSL would say it in a word of its own, or Node not at all.
  if (!isSecret(material)) return { ...contextOf(material), requestCert: true, rejectUnauthorized: false };
  const psk = Buffer.from(material.secret);
  return { ...contextOf(material), pskCallback: (_socket, identity) => (identity === PSK_IDENTITY ? psk : null) };
}

/** The same world, with connections that are secured. */
export function securedWorld(world: LaneWorld, tls: PeerTls): LaneWorld {
  return {
    ...world,
    connect: (target) => tls.dial(target),
    refusalIn: (failure, target) => tls.refusalIn(failure, target),
  };
}

/** Whether the two ends of a connection have different peer secrets. */
export function hasOtherSecret(failure: Error): boolean {
  return BAD_RECORD.test(failure.message) || ('code' in failure && BAD_RECORD.test(String(failure.code)));
}

/** Undefined for what has nothing to do with TLS. */
function faultIn(failure: Error, target: Address): string | undefined {
  const { message } = failure;
  const code = 'code' in failure && typeof failure.code === 'string' ? failure.code : '';
  if (NO_TLS.test(message)) return SPEAKS_NO_TLS;
  if (hasOtherSecret(failure)) return OTHER_SECRET;
  if (OF_TLS.test(code)) return `the handshake of TLS failed: ${message.trim()}`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `its certificate is not for ${target.host}, by which it was dialled: ${message}`;
  }
  // What the system says has a call; what is left are the words of OpenSSL for a certificate.
  if (code === '' || 'syscall' in failure || code.startsWith('ERR_') || code === 'ECONNRESET') return undefined;
  return `its certificate is not one of --peer-tls-ca-file, or is not valid: ${message} (${code})`;
}
