/**
 * The bootstrap key, which an operator gives to a node in a file and with which other keys are issued. It may do
 * everything. It is valid on nodes whose file has it: when it is replaced there, requests with it are refused, and its
 * streams end.
 */
import { failure, ok, type Result } from '#base';
import { isSameHash, secretHash } from './api-key.ts';
import { type Extractor, NOTHING, type Principal } from './extractor.ts';
import { KEY_INPUTS, proofOf, type SentSecret, sentSecret } from './key-extractor.ts';

/** Returns SHA-256 of the key in use, which is another object once the key was replaced. */
export type BootstrapKey = () => Uint8Array;

const LENGTH_MIN = 32;
const LENGTH_MAX = 512;
const SHAPE = new RegExp(`^[\\x21-\\x7e]{${LENGTH_MIN},${LENGTH_MAX}}$`);

/** Reads the content of the file, which is one line. The reason of a failure does not repeat the content. */
export function readBootstrapKey(content: string): Result<Uint8Array, string> {
  const text = content.replace(/\r?\n$/, '');
  if (SHAPE.test(text)) return ok(secretHash(text));
  const rule = `must hold one line of ${LENGTH_MIN} to ${LENGTH_MAX} characters without spaces, such as openssl rand -hex 32 writes`;
  return failure(`${rule}; it has ${text.length} characters`);
}

/** Runs before the extractor of catalog keys: any other key may be one of those. */
export function bootstrapExtractor(key: BootstrapKey): Extractor {
  const known: Partial<Record<SentSecret['header'], Principal>> = {};
  return {
    inputs: KEY_INPUTS,
    extract: (credentials) => {
      const sent = sentSecret(credentials);
      if (sent === undefined || !isSameHash(secretHash(sent.text), key())) return NOTHING;
      const before = known[sent.header];
      const principal = before?.holds() === true ? before : bootstrapPrincipal(sent, key);
      known[sent.header] = principal;
      return { kind: 'principal', principal };
    },
  };
}

function bootstrapPrincipal(sent: SentSecret, key: BootstrapKey): Principal {
  const used = key();
  return {
    id: 'bootstrap',
    name: 'bootstrap',
    attributes: new Map(),
    grants: [{ role: 'admin', databases: '*' }],
    holds: () => key() === used,
    proof: () => proofOf(sent),
  };
}
