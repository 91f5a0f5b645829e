/** Extractors for external authentication: OpenID providers and proxies, from the settings. */
import {
  type Extractor,
  type GrantsOfRoles,
  type KeySource,
  KeysByName,
  loadBalancerExtractor,
  oidcExtractor,
  RemoteKeys,
  readGrantsFile,
  readPemKey,
  type SourceParts,
  signedHeaderExtractor,
} from '#auth';
import { DatabaseError } from '#base';
import { wallClock } from '#cluster';
import type { Logger, Metrics } from '#observability';
import { contentOf } from '../settings/setting-files.ts';
import type { Config } from '../settings/settings.ts';

interface TokenParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** @throws DatabaseError when a file of the settings cannot be used. */
export function tokenExtractors(config: Config, parts: TokenParts): readonly Extractor[] {
  const grantsOfRoles = grantsOfRolesIn(config);
  return [
    ...loadBalancerExtractors(config, grantsOfRoles, parts),
    ...signedHeaderExtractors(config, grantsOfRoles, parts),
    ...oidcExtractors(config, grantsOfRoles, parts),
  ];
}

const nowMs = (): number => wallClock.nowMs();

function loadBalancerExtractors(
  { albSigner: signers, albKeysUrl, albRolesClaim: rolesClaim }: Config,
  grantsOfRoles: GrantsOfRoles,
  parts: TokenParts,
): readonly Extractor[] {
  const [first] = signers;
  if (first === undefined) return [];
  const base = albKeysUrl === 'region' ? `https://public-keys.auth.elb.${regionOf(first)}.amazonaws.com` : albKeysUrl;
  const keys = new KeysByName(base, sourceParts(parts));
  return [loadBalancerExtractor({ keys, signers, roles: { rolesClaim, grantsOfRoles }, nowMs })];
}

/** Region of an ARN; setting-pairs.ts has refused ARNs without one. */
function regionOf(arn: string): string {
  return arn.split(':')[3] ?? '';
}

function signedHeaderExtractors(config: Config, grantsOfRoles: GrantsOfRoles, parts: TokenParts): readonly Extractor[] {
  const { signedHeader: header, signedHeaderIssuer: issuer, signedHeaderAudience: audiences } = config;
  if (header === 'none') return [];
  const keys = signedHeaderKeys(config, parts);
  const roles = { rolesClaim: config.signedHeaderRolesClaim, grantsOfRoles };
  return [signedHeaderExtractor({ header, keys, issuer, audiences, roles, nowMs })];
}

function signedHeaderKeys({ signedHeaderKeys: place }: Config, parts: TokenParts): KeySource {
  if (/^https?:/i.test(place)) return new RemoteKeys({ kind: 'keys', url: new URL(place) }, sourceParts(parts));
  const read = readPemKey(contentOf(place, 'signed-header-keys'));
  if (read.kind === 'ok') return read.value;
  throw new DatabaseError('invalid_argument', `The file ${place} of signed-header-keys ${read.reason}`);
}

function oidcExtractors(config: Config, grantsOfRoles: GrantsOfRoles, parts: TokenParts): readonly Extractor[] {
  const { oidcIssuer: issuer, oidcAudience: audiences, oidcJwksUrl: keysUrl, oidcRolesClaim: rolesClaim } = config;
  if (issuer === 'none') return [];
  const keys = new RemoteKeys(
    keysUrl === 'discovery' ? { kind: 'issuer', issuer } : { kind: 'keys', url: new URL(keysUrl) },
    sourceParts(parts),
  );
  return [oidcExtractor({ keys, issuer, audiences, roles: { rolesClaim, grantsOfRoles }, nowMs })];
}

function sourceParts({ logger, metrics }: TokenParts): SourceParts {
  const read = metrics.counter('cairn_identity_keys_reads_total', { result: 'read' });
  const failed = metrics.counter('cairn_identity_keys_reads_total', { result: 'failed' });
  return {
    monotonicMs: () => performance.now(),
    onRead: (url, why) => {
      if (why === undefined) return read.add();
      failed.add();
      logger.warn('identity-keys-not-read', { url, why });
    },
  };
}

function grantsOfRolesIn({ authGrantsFile: file }: Config): GrantsOfRoles {
  if (file === 'none') return undefined;
  const read = readGrantsFile(contentOf(file, 'auth-grants-file'));
  if (read.kind === 'ok') return read.value;
  throw new DatabaseError('invalid_argument', `The file ${file} of auth-grants-file ${read.reason}`);
}
