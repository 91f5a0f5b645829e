/** Secrets and durations as planning reads them. */
import { type ConfigMap, type Secret, textIn } from '../kube/index.ts';
import { OPERATOR } from '../objects/index.ts';
import type { Pair } from './issue.ts';

/** Objects of the namespace of a cluster, by their names. An object that does not exist is absent. */
export interface FoundObjects {
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly configMaps: ReadonlyMap<string, ConfigMap>;
}

export function pairIn(secret: Secret | undefined, certificateKey: string, privateKeyKey: string): Pair | undefined {
  const [certificate, privateKey] = [textIn(secret, certificateKey), textIn(secret, privateKeyKey)];
  return certificate === undefined || privateKey === undefined ? undefined : { certificate, privateKey };
}

/** Returns true when the operator made the Secret, or cert-manager, from which the operator takes over. */
export function isReplaceable({ metadata: { labels, annotations } }: Secret): boolean {
  return (
    labels?.['app.kubernetes.io/managed-by'] === OPERATOR ||
    annotations?.['cert-manager.io/certificate-name'] !== undefined
  );
}

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000 };

/** Milliseconds of a duration in Go's notation, such as 1h30m. */
export function durationMs(text: string): number {
  const parts = [...text.matchAll(/(\d+)([hms])/g)];
  return parts.reduce((sum, [, count = '0', unit = 's']) => sum + Number(count) * (UNIT_MS[unit] ?? 0), 0);
}
