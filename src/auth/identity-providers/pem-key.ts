/** One public key in PEM, from a file of the operator or from a load balancer. */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { failure, ok, type Result } from '#base';
import type { KeySource } from './key-source.ts';

const RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
/** Algorithms by the OpenSSL name of the curve. */
const CURVES: Readonly<Record<string, readonly string[]>> = {
  prime256v1: ['ES256'],
  secp384r1: ['ES384'],
  secp521r1: ['ES512'],
};

/** Accepts public keys only: a private key or a certificate means that the wrong file was given. */
export function readPemKey(text: string): Result<KeySource, string> {
  const key = publicKeyIn(text);
  const algorithms = key === undefined ? [] : algorithmsOf(key);
  if (key === undefined || algorithms.length === 0) {
    return failure(
      'must hold one public key as PEM (BEGIN PUBLIC KEY) of RSA, Ed25519, or the curves P-256, P-384 or P-521',
    );
  }
  return ok({ algorithms, version: 0, find: async () => key });
}

export function publicKeyIn(text: string): KeyObject | undefined {
  if (!/^\s*-----BEGIN PUBLIC KEY-----[\s\w+/=]+-----END PUBLIC KEY-----\s*$/.test(text)) return undefined;
  try {
    return createPublicKey(text);
  } catch (cause) {
    // node:crypto throws only Errors with OpenSSL codes here.
    if (cause instanceof Error) return undefined;
    throw cause;
  }
}

function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): readonly string[] {
  if (asymmetricKeyType === 'rsa') return RSA;
  if (asymmetricKeyType === 'ed25519') return ['EdDSA', 'Ed25519'];
  return CURVES[asymmetricKeyDetails?.namedCurve ?? ''] ?? [];
}
