/**
 * TLS of the client ports: reads the files of its settings at startup, and again while the node runs
 * (reloaded-files.ts). New files are used from the next handshake on.
 */
import type { X509Certificate } from 'node:crypto';
import { connect } from 'node:net';
import { connect as connectSecurely, createSecureContext, type SecureContext } from 'node:tls';
import type { Result } from '#base';
import type { Logger, Metrics } from '#observability';
import type { Dial } from '#transport';
import { ReloadedFiles } from '../settings/reloaded-files.ts';
import type { Config } from '../settings/settings.ts';
import {
  checkValidity,
  readTlsFiles,
  type TlsContents,
  type TlsMaterial,
  type TlsSettings,
  tlsMaterial,
  validityFault,
} from './tls-files.ts';
import { TlsPorts } from './tls-ports.ts';

interface TlsParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly checkMs?: number;
}

export class Tls implements Disposable {
  /** Undefined without a certificate. */
  readonly ports: TlsPorts | undefined;
  readonly #settings: TlsSettings;
  readonly #parts: TlsParts;
  readonly #files: ReloadedFiles<TlsContents> | undefined;
  /** For connections to other nodes; undefined: the defaults of Node.js, without a client certificate. */
  context: SecureContext | undefined;
  /** The certificate in use, and the previous one: a handshake may have started with it. */
  #own: readonly X509Certificate[] = [];

  /** @throws DatabaseError when a file cannot be read or is invalid. */
  constructor(settings: TlsSettings & Pick<Config, 'tlsClientAuth'>, parts: TlsParts) {
    const { logger, metrics, checkMs } = parts;
    this.#settings = settings;
    this.#parts = parts;
    const used = readTlsFiles(settings);
    const material = tlsMaterial(used, settings);
    this.ports =
      material.serving &&
      new TlsPorts(material.serving, {
        clientAuth: settings.tlsClientAuth,
        onFailed: (why) => {
          metrics.counter('cairn_tls_handshakes_failed_total', {}).add();
          logger.debug('tls-handshake-failed', { why });
        },
      });
    this.#take(material);
    if (Object.values(used).every((content) => content === undefined)) return;
    this.#files = new ReloadedFiles({
      used,
      read: () => readTlsFiles(settings),
      use: (contents) => this.#use(contents),
      onReload: (outcome) => this.#report(outcome),
      checkMs,
    });
  }

  /** Reason why clients that verify the certificate cannot connect now. */
  get certificateFault(): string | undefined {
    const [own] = this.#own;
    return own && validityFault(own, 'tls-cert-file', Date.now());
  }

  /** Connects to this node itself, at an address that its certificate need not contain. */
  readonly dialSelf: Dial = ({ host, port }, protocol) => {
    const socket = connectSecurely({
      socket: connect({ host, port, noDelay: true }),
      ALPNProtocols: [protocol],
      // Verified below more strictly than by name: the certificate must be the node's own.
      rejectUnauthorized: false,
    });
    // Node.js emits the event before it sends data written meanwhile.
    socket.once('secureConnect', () => {
      const shown = socket.getPeerX509Certificate();
      const isOwn = this.#own.some(({ raw }) => shown !== undefined && raw.equals(shown.raw));
      if (!isOwn) socket.destroy(new Error('The certificate is not the one of this node'));
    });
    return socket;
  };

  [Symbol.dispose](): void {
    this.#files?.[Symbol.dispose]();
  }

  #report(outcome: Result<void, string>): void {
    const { logger, metrics } = this.#parts;
    metrics.counter('cairn_tls_reloads_total', { result: outcome.kind === 'ok' ? 'loaded' : 'failed' }).add();
    if (outcome.kind === 'ok') return;
    logger.error('tls-not-reloaded', { message: `${outcome.reason}; the previous files stay in use` });
  }

  /** @throws DatabaseError when the material is invalid */
  #use(contents: TlsContents): void {
    const material = tlsMaterial(contents, this.#settings);
    if (material.serving !== undefined) {
      checkValidity(material.serving.certificate, this.#own[0], 'tls-cert-file');
      this.ports?.replace(material.serving);
    }
    this.#take(material);
  }

  #take({ serving, asking }: TlsMaterial): void {
    const { logger, metrics } = this.#parts;
    this.context = asking && createSecureContext(asking);
    if (serving === undefined) return;
    const { certificate } = serving;
    this.#own = [certificate, ...this.#own.slice(0, 1)];
    const endsMs = Date.parse(certificate.validTo);
    metrics.gauge('cairn_tls_certificate_expiry_timestamp_seconds', {}).set(endsMs / 1000);
    const { subject, issuer, subjectAltName = '', validTo } = certificate;
    logger.info('tls-certificate', { subject, issuer, names: subjectAltName, until: validTo });
    if (endsMs > Date.now()) return;
    const message = `The certificate in ${this.#settings.tlsCertFile} of tls-cert-file has expired: clients that verify it cannot connect`;
    logger.warn('tls-certificate-expired', { until: validTo, message });
  }
}
