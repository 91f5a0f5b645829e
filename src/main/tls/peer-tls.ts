/**
 * TLS between nodes: reads the files of its settings at startup, and again while the node runs (reloaded-files.ts).
 *
 * ```
 *   files ── read, and found to be right ──> this thread: asks the own node
 *                                     └────> the thread of the core: lanes and questions, both ways
 * ```
 * Only this thread reads the files, so that a hanging disk does not block the core thread.
 */
import { createHash, type X509Certificate } from 'node:crypto';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Result } from '#base';
import type { Logger, Metrics } from '#observability';
import { type PeerSecret, PeerTls, type PeerTlsMaterial, type PeerTlsMode } from '#transport/peer';
import { ReloadedFiles } from '../settings/reloaded-files.ts';
import { contentOf, invalidFile } from '../settings/setting-files.ts';
import type { PeerTlsSettings } from '../settings/settings.ts';
import { certificatesIn, checked, checkValidity, contentIfNamed, keyIn, validityFault } from './tls-files.ts';

/** The files of certificates, or of the secret; the others are `none`. */
export type PeerTlsFiles = Omit<PeerTlsSettings, 'peerTls'>;

/** Material for the core thread; later changes arrive at the port. */
export interface CoreTls {
  readonly mode: PeerTlsMode;
  readonly material: PeerTlsMaterial;
  readonly replaced: MessagePort;
}

interface PeerTlsParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly checkMs?: number;
}

/**
 * Returns undefined when no files are given.
 * @throws DatabaseError when a file cannot be read or is invalid.
 */
export function openPeerTls(settings: PeerTlsSettings, parts: PeerTlsParts): NodePeerTls | undefined {
  const { peerSecretFile, peerTlsCertFile } = settings;
  return peerSecretFile === 'none' && peerTlsCertFile === 'none' ? undefined : new NodePeerTls(settings, parts);
}

/** Long enough that the secret cannot be guessed. */
const SECRET = /^[\x21-\x7e]{32,1024}$/;

/** @throws DatabaseError that names the file and the setting, but nothing of the secret */
function secretIn(file: string): PeerSecret {
  const text = contentOf(file, 'peer-secret-file').trim();
  if (!SECRET.test(text))
    throw invalidFile(
      file,
      'peer-secret-file',
      'must have one line of 32 to 1,024 characters, such as `openssl rand -hex 32` prints',
    );
  return { secret: createHash('sha256').update('cairn peers 1 ').update(text).digest() };
}

/** Reads the files once, for a command. @throws DatabaseError like `openPeerTls` */
export function readPeerTls(files: PeerTlsFiles): PeerTls {
  const material = readFiles(files);
  certificateOf(material, files);
  return new PeerTls(material);
}

export class NodePeerTls implements Disposable {
  /** TLS for this thread. */
  readonly tls: PeerTls;
  /** TLS for the core thread; used once. */
  readonly forCore: CoreTls;
  readonly #settings: PeerTlsFiles;
  readonly #parts: PeerTlsParts;
  readonly #files: ReloadedFiles<PeerTlsMaterial>;
  readonly #core: MessagePort;
  /** A secret has none. */
  #certificate: X509Certificate | undefined;

  constructor(settings: PeerTlsSettings, parts: PeerTlsParts) {
    this.#settings = settings;
    this.#parts = parts;
    const material = readFiles(settings);
    const certificate = certificateOf(material, settings);
    this.#certificate = certificate;
    const mode = settings.peerTls === 'prefer' ? 'prefer' : 'require';
    const { port1, port2 } = new MessageChannel();
    this.#core = port1;
    port1.unref();
    this.tls = new PeerTls(material, mode);
    this.forCore = { mode, material, replaced: port2 };
    this.#show(certificate);
    if (mode === 'prefer') {
      const message =
        'The peer port accepts connections without TLS: start the node without --peer-tls=prefer when all nodes use TLS';
      parts.logger.warn('peer-tls-optional', { message });
    }
    this.#files = new ReloadedFiles({
      used: material,
      read: () => readFiles(settings),
      use: (found) => this.#use(found),
      onReload: (outcome) => this.#report(outcome),
      checkMs: parts.checkMs,
    });
  }

  /** Reason why other nodes cannot connect now. */
  get certificateFault(): string | undefined {
    return this.#certificate && validityFault(this.#certificate, 'peer-tls-cert-file', Date.now());
  }

  [Symbol.dispose](): void {
    this.#files[Symbol.dispose]();
    this.#core.close();
  }

  /** @throws DatabaseError when the material is invalid */
  #use(material: PeerTlsMaterial): void {
    const certificate = certificateOf(material, this.#settings);
    if (certificate !== undefined) checkValidity(certificate, this.#certificate, 'peer-tls-cert-file');
    this.tls.use(material);
    this.#core.postMessage(material, []);
    this.#certificate = certificate;
    this.#show(certificate);
  }

  #report(outcome: Result<void, string>): void {
    const { logger, metrics } = this.#parts;
    metrics.counter('cairn_peer_tls_reloads_total', { result: outcome.kind === 'ok' ? 'loaded' : 'failed' }).add();
    if (outcome.kind === 'ok') return;
    logger.error('peer-tls-not-reloaded', { message: `${outcome.reason}; the previous files stay in use` });
  }

  #show(certificate: X509Certificate | undefined): void {
    if (certificate === undefined) return;
    const { subject, issuer, subjectAltName = '', validTo } = certificate;
    const { logger, metrics } = this.#parts;
    const endsMs = Date.parse(validTo);
    metrics.gauge('cairn_peer_tls_certificate_expiry_timestamp_seconds', {}).set(endsMs / 1000);
    logger.info('peer-tls-certificate', { subject, issuer, names: subjectAltName, until: validTo });
    if (endsMs > Date.now()) return;
    const message = `The certificate in ${this.#settings.peerTlsCertFile} of peer-tls-cert-file has expired: other nodes cannot connect`;
    logger.warn('peer-tls-certificate-expired', { until: validTo, message });
  }
}

function readFiles({ peerSecretFile, peerTlsCertFile, peerTlsKeyFile, peerTlsCaFile }: PeerTlsFiles): PeerTlsMaterial {
  if (peerSecretFile !== 'none') return secretIn(peerSecretFile);
  return {
    cert: contentIfNamed(peerTlsCertFile, 'peer-tls-cert-file') ?? '',
    key: contentIfNamed(peerTlsKeyFile, 'peer-tls-key-file') ?? '',
    ca: contentIfNamed(peerTlsCaFile, 'peer-tls-ca-file') ?? '',
  };
}

/** @throws DatabaseError invalid_argument, which names the file and the setting, but nothing of the key */
function certificateOf(material: PeerTlsMaterial, files: PeerTlsFiles): X509Certificate | undefined {
  if ('secret' in material) return undefined;
  const { cert, key, ca } = material;
  const { peerTlsCertFile: certFile, peerTlsKeyFile: keyFile, peerTlsCaFile: caFile } = files;
  certificatesIn(ca, caFile, 'peer-tls-ca-file');
  const [certificate] = certificatesIn(cert, certFile, 'peer-tls-cert-file');
  if (!certificate.checkPrivateKey(keyIn(key, keyFile, 'peer-tls-key-file'))) {
    throw invalidFile(keyFile, 'peer-tls-key-file', `is not that of the certificate in ${certFile}`);
  }
  checked({ cert, key, ca });
  return certificate;
}
