/** Creates tokens in the format of an AWS load balancer: with padding in each part, and times in the header. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

export interface BalancerKey {
  readonly pem: string;
  readonly key: KeyObject;
}

export function balancerKey(): BalancerKey {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { pem: publicKey.export({ type: 'spki', format: 'pem' }).toString(), key: privateKey };
}

export function balancerToken(key: KeyObject, header: object, claims: object): string {
  const text = `${padded(JSON.stringify(header))}.${padded(JSON.stringify(claims))}`;
  return `${text}.${padded(sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }))}`;
}

function padded(content: string | Buffer): string {
  return Buffer.from(content).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}
