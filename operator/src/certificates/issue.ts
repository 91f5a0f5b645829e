/** Makes keys and certificates, and reads them. Planning reads only; nothing else here depends on chance. */
// oxlint-disable-next-line import/no-unassigned-import -- @peculiar/x509 needs it before it is loaded
import 'reflect-metadata';
import { createPrivateKey, randomBytes, randomInt, type webcrypto, X509Certificate } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  X509Certificate as Parsed,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

export interface Pair {
  readonly certificate: string;
  readonly privateKey: string;
}

export interface Validity {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const SERIAL_BYTES = 16;
const POSITIVE = 0x7f;
const RANDOM_LENGTH = 64;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Makes an authority of its own name: a client may have several of one cluster. */
export async function makeAuthority(owner: string, validity: Validity): Promise<Pair> {
  const keys = await newKeys();
  const serialNumber = newSerial();
  const extensions = [
    new BasicConstraintsExtension(true, 0, true),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    await SubjectKeyIdentifierExtension.create(keys.publicKey),
  ];
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber,
    name: [{ O: [owner] }, { CN: [`cairn ${serialNumber.slice(0, 8)}`] }],
    ...datesOf(validity),
    keys,
    signingAlgorithm: ALGORITHM,
    extensions,
  });
  return pairOf(certificate, keys);
}

/** Makes a certificate for servers and clients: nodes are clients of each other. */
export async function makeCertificate(authority: Pair, names: readonly string[], validity: Validity): Promise<Pair> {
  const keys = await newKeys();
  const issuer = new Parsed(authority.certificate);
  const der = PemConverter.decodeFirst(authority.privateKey);
  const signingKey = await crypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign']);
  const dnsNames = names.map((value) => ({ type: 'dns' as const, value }));
  const extensions: Extension[] = [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
    // Critical, because the subject is empty (RFC 5280, 4.2.1.6).
    new SubjectAlternativeNameExtension(dnsNames, true),
    await SubjectKeyIdentifierExtension.create(keys.publicKey),
    await AuthorityKeyIdentifierExtension.create(await issuer.publicKey.export()),
  ];
  const certificate = await X509CertificateGenerator.create({
    serialNumber: newSerial(),
    subject: [],
    issuer: issuer.subject,
    ...datesOf(validity),
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: ALGORITHM,
    extensions,
  });
  return pairOf(certificate, keys);
}

/** A secret of letters and digits. */
export function randomText(): string {
  return Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

function newSerial(): string {
  const bytes = randomBytes(SERIAL_BYTES);
  bytes[0] = ((bytes[0] ?? 0) & POSITIVE) | 1;
  return bytes.toString('hex');
}

function datesOf({ notBeforeMs, notAfterMs }: Validity): { readonly notBefore: Date; readonly notAfter: Date } {
  return { notBefore: new Date(notBeforeMs), notAfter: new Date(notAfterMs) };
}

async function pairOf(certificate: Parsed, { privateKey }: webcrypto.CryptoKeyPair): Promise<Pair> {
  const der = await crypto.subtle.exportKey('pkcs8', privateKey);
  return {
    certificate: `${certificate.toString('pem')}\n`,
    privateKey: `${PemConverter.encode(der, 'PRIVATE KEY')}\n`,
  };
}

/** A certificate as planning reads it. */
export interface Certificate extends Validity {
  readonly pem: string;
  readonly dnsNames: readonly string[];
  isIssuedBy(authority: Certificate): boolean;
  hasKey(privateKey: string): boolean;
  readonly parsed: X509Certificate;
}

/** Returns undefined when the text is no certificate. */
export function readCertificate(pem: string): Certificate | undefined {
  let parsed: X509Certificate;
  try {
    parsed = new X509Certificate(pem);
  } catch {
    return undefined;
  }
  const names = parsed.subjectAltName?.split(', ') ?? [];
  return {
    pem,
    parsed,
    notBeforeMs: Date.parse(parsed.validFrom),
    notAfterMs: Date.parse(parsed.validTo),
    dnsNames: names.filter((name) => name.startsWith('DNS:')).map((name) => name.slice('DNS:'.length)),
    isIssuedBy: (authority) => parsed.checkIssued(authority.parsed) && parsed.verify(authority.parsed.publicKey),
    hasKey: (privateKey) => hasKey(parsed, privateKey),
  };
}

function hasKey(certificate: X509Certificate, privateKey: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(privateKey));
  } catch {
    return false;
  }
}

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** All certificates in the texts, each once. */
export function bundleOf(texts: readonly string[]): string {
  const found = texts.flatMap((text) => text.match(PEM_CERTIFICATE) ?? []);
  return [...new Set(found)].map((pem) => `${pem}\n`).join('');
}
