/**
 * Identifies clients by their certificates, where a connection belongs to one client (gRPC). The TLS handshake has
 * verified the certificates.
 *
 * ```
 *   another credential is sent ────────────────────────────────> ignored: the other extractor decides
 *   a client's connection ── its certificate ──────────────────> its principal
 *   a node relays ── Client-Cert ── the node shows its own ────> the principal of the client's certificate
 *                          │        └── or another, or none ───> refused
 *                          └── absent ─────────────────────────> ignored: a relaying node is not the client
 * ```
 *
 * HTTP clients are not identified by certificates: a proxy sends requests of many clients over one connection, and a
 * cache could not tell them apart.
 */
import { X509Certificate } from 'node:crypto';
import type { Grant } from '#model';
import { keep } from './bounded-map.ts';
import { type Extractor, type Found, NOTHING, type Principal } from './extractor.ts';

/** Grants for certificates with this name: `CN=ops`, `DNS=shop.example`, `URI=spiffe://shop/api`. */
export interface CertificateRule {
  readonly name: string;
  readonly grants: readonly Grant[];
}

/** Header with the certificate of a client, set by the node that relays its request (RFC 9440). */
export const CLIENT_CERT = 'client-cert';

export interface CertificateOptions {
  readonly rules: readonly CertificateRule[];
  /** Headers with credentials of other kinds. */
  readonly others: readonly string[];
  /** Header with the name of the node that relays the request. */
  readonly relayedBy: string;
  /** Returns whether the certificate belongs to the cluster node with this name. */
  readonly isOfNode: (certificate: X509Certificate, name: string) => boolean;
  readonly nowMs: () => number;
}

/** Maximum number of cached certificates from headers: parsing one costs more than most requests. */
const KEPT_MAX = 1_000;

/** Value of the header for another node. */
export function clientCertOf({ raw }: X509Certificate): string {
  return `:${raw.toString('base64')}:`;
}

export function certificateExtractor(options: CertificateOptions): Extractor {
  const reader = new CertificateReader(options);
  const others = options.others.map((name) => name.toLowerCase());
  return {
    inputs: [],
    extract: (credentials) => {
      const { certificate } = credentials;
      if (certificate === undefined || others.some((name) => credentials.values(name).length > 0)) return NOTHING;
      const [relayedBy] = credentials.values(options.relayedBy);
      const [sent, ...more] = credentials.values(CLIENT_CERT);
      if (sent === undefined) return relayedBy === undefined ? reader.found(certificate) : NOTHING;
      const isOfNode = relayedBy !== undefined && more.length === 0 && options.isOfNode(certificate, relayedBy);
      return isOfNode ? reader.sent(sent) : refused('Client-Cert was not sent by a node of this cluster');
    },
  };
}

class CertificateReader {
  readonly #options: CertificateOptions;
  readonly #shown = new WeakMap<X509Certificate, Principal>();
  readonly #sent = new Map<string, X509Certificate>();

  constructor(options: CertificateOptions) {
    this.#options = options;
  }

  found(certificate: X509Certificate): Found {
    const principal = this.#shown.get(certificate) ?? this.#principalOf(certificate);
    this.#shown.set(certificate, principal);
    // A connection may outlast the validity of its certificate.
    return principal.holds()
      ? { kind: 'principal', principal }
      : refused(`the certificate of ${principal.name} has expired`);
  }

  sent(text: string): Found {
    const certificate = this.#sent.get(text) ?? certificateIn(text);
    if (certificate === undefined) return refused('Client-Cert is no certificate');
    keep(this.#sent, text, certificate, KEPT_MAX);
    return this.found(certificate);
  }

  #principalOf(certificate: X509Certificate): Principal {
    const names = namesOf(certificate);
    const name = names.find((each) => !each.startsWith('CN=')) ?? names[0] ?? certificate.fingerprint256;
    const grants = this.#options.rules.filter((rule) => names.includes(rule.name)).flatMap((rule) => rule.grants);
    const endsMs = Date.parse(certificate.validTo);
    return {
      id: `certificate:${name}`,
      name: name.slice(name.indexOf('=') + 1),
      attributes: new Map(),
      grants,
      expiresAtMs: endsMs,
      holds: () => this.#options.nowMs() < endsMs,
      proof: () => ({ [CLIENT_CERT]: clientCertOf(certificate) }),
    };
  }
}

/** Returns the names as `URI=`, `DNS=` and `CN=`, in this order. */
export function namesOf(certificate: X509Certificate): readonly string[] {
  const { subject } = certificate.toLegacyObject();
  const alternatives = [...(certificate.subjectAltName ?? '').matchAll(ALTERNATIVE)].map(
    ([, kind = '', quoted, plain = '']) => `${kind}=${quoted === undefined ? plain : String(JSON.parse(quoted))}`,
  );
  const ofKind = (kind: string): readonly string[] => alternatives.filter((name) => name.startsWith(kind));
  const common = [subject?.CN ?? []].flat().map((name) => `CN=${name}`);
  return [...ofKind('URI='), ...ofKind('DNS='), ...common];
}

/** One alternative name as Node.js prints it; ambiguous names are JSON strings. */
const ALTERNATIVE = /(?:^|, )([A-Za-z ]+):(?:("(?:[^"\\]|\\.)*")|([^",]*))(?=, |$)/g;

function certificateIn(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(Buffer.from(text.replaceAll(':', ''), 'base64'));
  } catch {
    return undefined;
  }
}

function refused(why: string): Found {
  return { kind: 'refused', why };
}
