/** Extractors for external authentication: OpenID providers and proxies, from the settings. */
import {
  type Extractor,
  type GrantsOfRoles,
  KeysByName,
  loadBalancerExtractor,
  oidcExtractor,
  RemoteKeys,
  readGrantsFile,
  readPemKey,
  type SourceParts,
  signedHeaderExtractor,
} from '#auth';
import { wallClock } from '#cluster';
import type { Logger, Metrics } from '#observability';
import { readFile } from '../settings/setting-files.ts';
import type { Config } from '../settings/settings.ts';

interface TokenParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** @throws DatabaseError when a file of the settings cannot be used. */
export function tokenExtractors(config: Config, parts: TokenParts): readonly Extractor[] {
  const { authGrantsFile: file } = config;
  const grantsOfRoles = file === 'none' ? undefined : readFile(file, 'auth-grants-file', readGrantsFile);
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
  // setting-pairs.ts has refused ARNs without a region.
  const region = first.split(':')[3] ?? '';
  const base = albKeysUrl === 'region' ? `https://public-keys.auth.elb.${region}.amazonaws.com` : albKeysUrl;
  const keys = new KeysByName(base, sourceParts(parts));
  return [loadBalancerExtractor({ keys, signers, roles: { rolesClaim, grantsOfRoles }, nowMs })];
}

function signedHeaderExtractors(config: Config, grantsOfRoles: GrantsOfRoles, parts: TokenParts): readonly Extractor[] {
  const { signedHeader: header, signedHeaderIssuer: issuer, signedHeaderAudience: audiences } = config;
  if (header === 'none') return [];
  const place = config.signedHeaderKeys;
  const keys = /^https?:/i.test(place)
    ? new RemoteKeys({ kind: 'keys', url: new URL(place) }, sourceParts(parts))
    : readFile(place, 'signed-header-keys', readPemKey);
  const roles = { rolesClaim: config.signedHeaderRolesClaim, grantsOfRoles };
  return [signedHeaderExtractor({ header, keys, issuer, audiences, roles, nowMs })];
}

function oidcExtractors(config: Config, grantsOfRoles: GrantsOfRoles, parts: TokenParts): readonly Extractor[] {
  const { oidcIssuer: issuer, oidcAudience: audiences, oidcJwksUrl: keysUrl, oidcRolesClaim: rolesClaim } = config;
  if (issuer === 'none') return [];
  const place =
    keysUrl === 'discovery'
      ? ({ kind: 'issuer', issuer } as const)
      : ({ kind: 'keys', url: new URL(keysUrl) } as const);
  const keys = new RemoteKeys(place, sourceParts(parts));
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
