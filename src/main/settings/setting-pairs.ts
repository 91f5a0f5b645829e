/** Finds settings that are valid alone but contradict each other. */
import { isIP } from 'node:net';
import { formatBytes, type Setting } from './setting.ts';
import { type Config, SETTINGS } from './settings.ts';

/** `defaultHardBytes` of #storage, in segments: it is not loaded for a command that starts no node (config.test.ts). */
const HARD_SEGMENTS = 2;

/** Name of a setting as the user wrote it; `undefined` when the setting is malformed and already reported. */
export type NameOf = (key: keyof Config) => string | undefined;

/** Returns one sentence per fault; it names both settings as the user wrote them. */
export function faultsBetween(config: Config, nameOf: NameOf): readonly string[] {
  return RULES.flatMap((each) => each(config, nameOf) ?? []);
}

type Rule = (config: Config, nameOf: NameOf) => string | undefined;

/** A rule about these settings: returns the fault. It is not applied when one of them is malformed. */
function rule<Key extends keyof Config>(
  keys: readonly Key[],
  faultIn: (config: Config, name: (key: Key) => string) => string | undefined,
): Rule {
  return (config, nameOf) =>
    keys.some((key) => nameOf(key) === undefined) ? undefined : faultIn(config, (key) => nameOf(key) ?? '');
}

/** Settings that have no effect, or not the meant one, without another setting. */
interface Need {
  readonly of: readonly (keyof Config)[];
  readonly needed: keyof Config;
  readonly advice: string;
}

const NEEDS: readonly Need[] = [
  {
    of: [
      'authBootstrapKeyFile',
      'authBasic',
      'authCertificateRoles',
      'authExtractorModule',
      'oidcIssuer',
      'albSigner',
      'signedHeader',
    ],
    needed: 'auth',
    advice: 'it has no effect without authentication',
  },
  {
    of: ['join', 'peerHost', 'peerTlsCertFile', 'peerSecretFile'],
    needed: 'peerPort',
    advice: 'it has no effect without connections between nodes: give that a port, usually 50052',
  },
  { of: ['metricsHost'], needed: 'metricsPort', advice: 'nothing listens there: give that a port, usually 9464' },
  { of: ['rateLimitBurst'], needed: 'rateLimitPerSecond', advice: 'there is no limit: give that a rate, such as 100' },
  { of: ['tlsCertFile'], needed: 'tlsKeyFile', advice: 'a certificate needs its key' },
  { of: ['tlsKeyFile', 'tlsClientCaFile'], needed: 'tlsCertFile', advice: 'TLS needs a certificate' },
  { of: ['authCertificateRoles'], needed: 'tlsClientCaFile', advice: 'no client is asked for a certificate' },
  { of: ['oidcAudience', 'mcpUrl'], needed: 'oidcIssuer', advice: 'no tokens are accepted' },
  { of: ['oidcIssuer'], needed: 'oidcAudience', advice: 'tokens issued for other services would be accepted' },
  { of: ['signedHeader'], needed: 'signedHeaderKeys', advice: 'tokens cannot be verified without keys' },
  { of: ['signedHeader'], needed: 'signedHeaderIssuer', advice: 'tokens cannot be verified without an issuer' },
  { of: ['signedHeader'], needed: 'signedHeaderAudience', advice: 'tokens cannot be verified without an audience' },
];

const UNSET: readonly string[] = ['off', 'none', 'auto'];

const NEED_RULES = NEEDS.flatMap(({ of, needed, advice }) =>
  of.map((key) =>
    rule([key, needed], (config, name) => {
      const text = textOf(config, needed);
      if (!UNSET.includes(text) || UNSET.includes(textOf(config, key))) return undefined;
      return `${name(key)} is set, but ${name(needed)} is ${text}; ${advice}.`;
    }),
  ),
);

function textOf<K extends keyof Config>(config: Pick<Config, K>, key: K): string {
  const setting: Setting<Config[K]> = SETTINGS[key];
  return setting.type.write(config[key]);
}

/** A cluster needs a voter from its beginning. */
const LEARNER_RULE = rule(['learner', 'bootstrap'], ({ learner, bootstrap }, name) =>
  learner && bootstrap === 'alone'
    ? `${name('learner')} is true, but ${name('bootstrap')} is alone; a learner joins a cluster and cannot found one.`
    : undefined,
);

const DISK_RULE = rule(['diskHardBytes', 'diskSoftBytes'], (config, name) => {
  const { diskHardBytes: hard, diskSoftBytes: soft, walSegmentBytes } = config;
  if (soft === 'auto') return undefined;
  const [hardName, softName] = [name('diskHardBytes'), name('diskSoftBytes')];
  if (hard === 'auto') {
    const follows = HARD_SEGMENTS * walSegmentBytes;
    if (follows <= soft) return undefined;
    return (
      `${softName} (${formatBytes(soft)}) is below ${hardName}, which is auto: two segments of the log, ` +
      `${formatBytes(follows)}. Raise ${softName} to at least that, or set ${hardName}.`
    );
  }
  if (hard <= soft) return undefined;
  return `${hardName} (${formatBytes(hard)}) is above ${softName} (${formatBytes(soft)}); it must be at most that.`;
});

const PEER_FILES = ['peerTlsCertFile', 'peerTlsKeyFile', 'peerTlsCaFile'] as const;

/** Peers authenticate each other by certificates, so the three files are needed together. */
const PEER_TLS_RULE = rule([...PEER_FILES, 'peerTls', 'peerSecretFile'], (config, name) => {
  const lacking = PEER_FILES.filter((key) => config[key] === 'none').map(name);
  const given = PEER_FILES.find((key) => config[key] !== 'none');
  const hasSecret = config.peerSecretFile !== 'none';
  if (given === undefined) {
    if (config.peerTls !== 'prefer' || hasSecret) return undefined;
    return `${name('peerTls')} is prefer, but ${lacking[0]} is none; a node needs a certificate for TLS.`;
  }
  if (hasSecret) {
    return `${name(given)} and ${name('peerSecretFile')} are both set; peers show certificates or a secret.`;
  }
  if (lacking.length === 0) return undefined;
  const are = `${lacking.join(' and ')} ${lacking.length > 1 ? 'are' : 'is'} none`;
  return `${name(given)} is set, but ${are}; peers need all three.`;
});

/** A client of an open peer port has all rights of a node, so it could issue API keys to itself. */
const OPEN_PEER_RULE = rule(
  ['auth', 'peerPort', 'peerTls', 'peerTlsCertFile', 'peerSecretFile'],
  ({ auth, peerPort, peerTls, peerTlsCertFile, peerSecretFile }, name) => {
    const certified = peerTlsCertFile === 'none' ? undefined : name('peerTlsCertFile');
    const secured = certified ?? (peerSecretFile === 'none' ? undefined : name('peerSecretFile'));
    if (secured !== undefined) {
      return peerTls === 'off' ? `${name('peerTls')} is off, but ${secured} is set; leave one out.` : undefined;
    }
    if (auth === 'off' || peerPort === 'off' || peerTls === 'off') return undefined;
    return (
      `${name('auth')} is on, but every client that reaches ${name('peerPort')} has all rights of a node: set ` +
      `${name('peerSecretFile')} or ${name('peerTlsCertFile')}, or ${name('peerTls')} to off when only nodes reach the port.`
    );
  },
);

/** ARN of a load balancer; the group is its region. The key URLs of other partitions than `aws` are unknown here. */
const ARN = /^arn:aws:elasticloadbalancing:([\da-z-]+):\d+:loadbalancer\/app\/[^:]+$/;

const LOAD_BALANCER_RULE = rule(['albSigner', 'albKeysUrl'], ({ albSigner, albKeysUrl }, name) => {
  const regions = new Set(albSigner.map((arn) => ARN.exec(arn)?.[1]));
  if (albSigner.length === 0 || albKeysUrl !== 'region' || (regions.size === 1 && !regions.has(undefined))) {
    return undefined;
  }
  return `${name('albKeysUrl')} is region, but ${name('albSigner')} does not name load balancers of one AWS region (arn:aws:elasticloadbalancing:REGION:ACCOUNT:loadbalancer/app/…); set ${name('albKeysUrl')}.`;
});

const SERVERS = ['grpcPort', 'httpPort', 'mcpPort', 'metricsPort', 'peerPort'] as const;

/** Checked before anything is opened: the second server would only report that its port is in use. */
const PORT_RULES = SERVERS.flatMap((one, at) =>
  SERVERS.slice(at + 1).map((other) =>
    rule([one, other], (config, name) => {
      const port = config[one];
      if (port !== config[other] || port === 'off' || port === 0) return undefined;
      const [host, otherHost] = [hostOf(config, one), hostOf(config, other)];
      if (!includesHost(host, otherHost) && !includesHost(otherHost, host)) return undefined;
      return `${name(one)} and ${name(other)} are both ${port}; every server of a node needs a port of its own (0: a free one).`;
    }),
  ),
);

function hostOf({ host, metricsHost, peerHost }: Config, server: (typeof SERVERS)[number]): string {
  const own = server === 'metricsPort' ? metricsHost : server === 'peerPort' ? peerHost : 'auto';
  return own === 'auto' ? host : own;
}

/** Returns whether a server at `wide` also listens at `host`. `::` includes IPv4. Host names are not resolved. */
function includesHost(wide: string, host: string): boolean {
  if (wide.toLowerCase() === host.toLowerCase() || wide === '::') return true;
  return wide === '0.0.0.0' && isIP(host) === 4;
}

const RULES: readonly Rule[] = [
  ...NEED_RULES,
  DISK_RULE,
  ...PORT_RULES,
  PEER_TLS_RULE,
  OPEN_PEER_RULE,
  LOAD_BALANCER_RULE,
  LEARNER_RULE,
];
