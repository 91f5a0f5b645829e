// Certificates for tests: authorities that issue certificates with any names and validity. The DER bytes are written
// here, because Node.js can sign but not create certificates.
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

export interface Issued {
  /** In PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface Subject {
  /** One or several common names. */
  readonly cn: string | readonly string[];
  /** Such as `DNS:shop.example`, `IP:127.0.0.1` or `URI:spiffe://shop/api`. */
  readonly names?: readonly string[];
  /** Start and end of the validity, in days from now. */
  readonly days?: readonly [from: number, to: number];
}

const DAY_MS = 86_400_000;

/** Encoded OBJECT IDENTIFIERs. */
const ECDSA_WITH_SHA256 = '2a8648ce3d040302';
const COMMON_NAME = '550403';
const ALTERNATIVE_NAMES = '551d11';
const BASIC_CONSTRAINTS = '551d13';

export class Authority {
  /** In PEM. */
  readonly cert: string;
  readonly #name: string;
  readonly #key: KeyObject;

  constructor(name = 'authority of the tests') {
    this.#name = name;
    const { publicKey, privateKey } = newKey();
    this.#key = privateKey;
    this.cert = this.#signed({ cn: name }, publicKey, true);
  }

  issue(subject: Subject): Issued {
    const { publicKey, privateKey } = newKey();
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
    return { cert: this.#signed(subject, publicKey, false), key: String(key) };
  }

  #signed({ cn, names = [], days: [from, to] = [-1, 2] }: Subject, publicKey: KeyObject, isAuthority: boolean): string {
    const algorithm = sequence(identifier(ECDSA_WITH_SHA256));
    const constraints = isAuthority ? sequence(der(0x01, Buffer.from([0xff]))) : sequence();
    const extensions = [extension(BASIC_CONSTRAINTS, constraints)];
    if (names.length > 0) extensions.push(extension(ALTERNATIVE_NAMES, sequence(...names.map(alternative))));
    const certificate = sequence(
      der(0xa0, der(0x02, Buffer.from([2]))),
      der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
      algorithm,
      nameOf(this.#name),
      sequence(time(from), time(to)),
      nameOf(cn),
      publicKey.export({ type: 'spki', format: 'der' }),
      der(0xa3, sequence(...extensions)),
    );
    const signature = sign('sha256', certificate, this.#key);
    const whole = sequence(certificate, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
    const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
    return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
  }
}

function newKey(): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

/** Encodes a value with its tag and length. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, ...parts);
}

function identifier(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'));
}

function nameOf(cn: Subject['cn']): Buffer {
  const names = [cn].flat();
  return sequence(...names.map((name) => der(0x31, sequence(identifier(COMMON_NAME), der(0x0c, Buffer.from(name))))));
}

function extension(id: string, value: Uint8Array): Buffer {
  return sequence(identifier(id), der(0x04, value));
}

function alternative(name: string): Buffer {
  const at = name.indexOf(':');
  const [kind, text] = [name.slice(0, at), name.slice(at + 1)];
  if (kind === 'DNS') return der(0x82, Buffer.from(text));
  if (kind === 'URI') return der(0x86, Buffer.from(text));
  if (kind === 'IP' && isIPv4(text)) return der(0x87, Buffer.from(text.split('.').map(Number)));
  throw new Error(`${name} is no name that a test needs`);
}

/** YYMMDDHHMMSSZ, which is valid until 2049. */
function time(days: number): Buffer {
  const text = new Date(Date.now() + days * DAY_MS).toISOString();
  return der(0x17, Buffer.from(`${text.slice(2, 19).replaceAll(/\D/g, '')}Z`));
}
