/** Reads and checks the TLS files: a certificate, its key, and certificate authorities. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { DatabaseError, messageOf } from '#base';
import { contentOf, invalidFile } from '../settings/setting-files.ts';
import type { Config } from '../settings/settings.ts';

/** Contents by setting; a file that is not given has no content. */
export interface TlsContents {
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  readonly clientAuthorities: string | undefined;
  readonly authorities: string | undefined;
}

/** Valid material. */
export interface TlsMaterial {
  /** For a server; undefined without a certificate. */
  readonly serving: ServingMaterial | undefined;
  /** For connections to other nodes; undefined: the authorities of Node.js are trusted, no certificate is presented. */
  readonly asking: SecureContextOptions | undefined;
}

export interface ServingMaterial {
  /** Certificate of the node itself; the file continues with its intermediate certificates. */
  readonly certificate: X509Certificate;
  readonly context: SecureContextOptions;
  /** Authorities for certificates of gRPC clients; undefined: clients are not asked for one. */
  readonly clientAuthorities: string | undefined;
}

export type TlsSettings = Pick<Config, 'tlsCertFile' | 'tlsKeyFile' | 'tlsClientCaFile' | 'tlsCaFile'>;

/** A certificate in PEM. Text around it, such as its subject, is ignored. */
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** @throws DatabaseError unavailable, which names the file and the setting */
export function readTlsFiles(settings: TlsSettings): TlsContents {
  return {
    certificate: contentIfNamed(settings.tlsCertFile, 'tls-cert-file'),
    key: contentIfNamed(settings.tlsKeyFile, 'tls-key-file'),
    clientAuthorities: contentIfNamed(settings.tlsClientCaFile, 'tls-client-ca-file'),
    authorities: contentIfNamed(settings.tlsCaFile, 'tls-ca-file'),
  };
}

/** @throws DatabaseError invalid_argument, which names the file and the setting, but nothing of the key */
export function tlsMaterial(contents: TlsContents, settings: TlsSettings): TlsMaterial {
  const { certificate: chain, key, clientAuthorities, authorities } = contents;
  if (clientAuthorities !== undefined)
    certificatesIn(clientAuthorities, settings.tlsClientCaFile, 'tls-client-ca-file');
  if (authorities !== undefined) certificatesIn(authorities, settings.tlsCaFile, 'tls-ca-file');
  const trusted: SecureContextOptions = authorities === undefined ? {} : { ca: authorities };
  if (chain === undefined || key === undefined) {
    return { serving: undefined, asking: authorities === undefined ? undefined : checked(trusted) };
  }
  const [certificate] = certificatesIn(chain, settings.tlsCertFile, 'tls-cert-file');
  if (!certificate.checkPrivateKey(keyIn(key, settings.tlsKeyFile, 'tls-key-file'))) {
    throw invalidFile(settings.tlsKeyFile, 'tls-key-file', `is not that of the certificate in ${settings.tlsCertFile}`);
  }
  const own = { cert: chain, key };
  return {
    serving: { certificate, context: checked(own), clientAuthorities },
    asking: checked({ ...own, ...trusted }),
  };
}

/** Undefined when the setting names no file. @throws DatabaseError like `contentOf` */
export function contentIfNamed(file: string, setting: string): string | undefined {
  return file === 'none' ? undefined : contentOf(file, setting);
}

/** Splits PEM certificates. @throws DatabaseError invalid_argument, which names the file */
export function certificatesIn(
  content: string,
  file: string,
  setting: string,
): readonly [X509Certificate, ...X509Certificate[]] {
  const blocks = content.match(CERTIFICATE) ?? [];
  const [first, ...others] = blocks.map((block, at) => {
    try {
      return new X509Certificate(block);
    } catch (cause) {
      throw invalidFile(file, setting, `has something else than a certificate as number ${at + 1}`, cause);
    }
  });
  if (first === undefined) throw invalidFile(file, setting, 'has no certificate in PEM');
  return [first, ...others];
}

/** @throws DatabaseError invalid_argument, without the content of the key */
export function keyIn(content: string, file: string, setting: string): KeyObject {
  try {
    return createPrivateKey(content);
  } catch (cause) {
    throw invalidFile(file, setting, 'has no private key in PEM without a passphrase', cause);
  }
}

/** Reason why clients that verify the certificate cannot connect at that time. */
export function validityFault(
  { validFrom, validTo }: X509Certificate,
  setting: string,
  nowMs: number,
): string | undefined {
  if (Date.parse(validTo) <= nowMs) return `the certificate of ${setting} has expired: it was valid until ${validTo}`;
  return Date.parse(validFrom) > nowMs ? `the certificate of ${setting} is valid from ${validFrom} on` : undefined;
}

/**
 * Keeps a valid certificate from being replaced by one that is not valid now.
 * @throws DatabaseError invalid_argument; a certificate that becomes valid later is accepted then
 */
export function checkValidity(next: X509Certificate, used: X509Certificate | undefined, setting: string): void {
  const nowMs = Date.now();
  const fault = validityFault(next, setting, nowMs);
  if (fault === undefined || used === undefined || validityFault(used, setting, nowMs) !== undefined) return;
  throw new DatabaseError('invalid_argument', `In the changed files ${fault}`);
}

/** Creates a context, because OpenSSL reports faults such as a short key only then. */
export function checked(options: SecureContextOptions): SecureContextOptions {
  try {
    createSecureContext(options);
    return options;
  } catch (cause) {
    throw new DatabaseError('invalid_argument', `The files of TLS cannot be used: ${messageOf(cause)}`, { cause });
  }
}
