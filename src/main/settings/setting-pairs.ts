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
  return [
    ...NEEDS.flatMap((need) => needFaults(config, need, nameOf)),
    ...diskFaults(config, nameOf),
    ...portFaults(config, nameOf),
    ...peerTlsFaults(config, nameOf),
    ...openPeerFaults(config, nameOf),
    ...loadBalancerFaults(config, nameOf),
    ...learnerFaults(config, nameOf),
  ];
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

function needFaults(config: Config, { of, needed, advice }: Need, nameOf: NameOf): readonly string[] {
  const [neededText, neededName] = [textOf(config, needed), nameOf(needed)];
  if (!UNSET.includes(neededText) || neededName === undefined) return [];
  return of.flatMap((key) => {
    const name = nameOf(key);
    if (name === undefined || UNSET.includes(textOf(config, key))) return [];
    return [`${name} is set, but ${neededName} is ${neededText}; ${advice}.`];
  });
}

const UNSET: readonly string[] = ['off', 'none', 'auto'];

function textOf<K extends keyof Config>(config: Pick<Config, K>, key: K): string {
  const setting: Setting<Config[K]> = SETTINGS[key];
  return setting.type.write(config[key]);
}

/** A cluster needs a voter from its beginning. */
function learnerFaults({ learner, bootstrap }: Config, nameOf: NameOf): readonly string[] {
  const [learnerName, bootstrapName] = [nameOf('learner'), nameOf('bootstrap')];
  if (learnerName === undefined || bootstrapName === undefined || !learner || bootstrap !== 'alone') return [];
  return [`${learnerName} is true, but ${bootstrapName} is alone; a learner joins a cluster and cannot found one.`];
}

function diskFaults(config: Config, nameOf: NameOf): readonly string[] {
  const { diskHardBytes: hard, diskSoftBytes: soft } = config;
  const [hardName, softName] = [nameOf('diskHardBytes'), nameOf('diskSoftBytes')];
  if (hardName === undefined || softName === undefined || soft === 'auto') return [];
  if (hard === 'auto') {
    const follows = HARD_SEGMENTS * config.walSegmentBytes;
    if (follows <= soft) return [];
    return [
      `${softName} (${formatBytes(soft)}) is below ${hardName}, which is auto: two segments of the log, ` +
        `${formatBytes(follows)}. Raise ${softName} to at least that, or set ${hardName}.`,
    ];
  }
  if (hard <= soft) return [];
  return [`${hardName} (${formatBytes(hard)}) is above ${softName} (${formatBytes(soft)}); it must be at most that.`];
}

/** Peers authenticate each other by certificates, so the three files are needed together. */
function peerTlsFaults(config: Config, nameOf: NameOf): readonly string[] {
  const files = [
    [nameOf('peerTlsCertFile'), config.peerTlsCertFile],
    [nameOf('peerTlsKeyFile'), config.peerTlsKeyFile],
    [nameOf('peerTlsCaFile'), config.peerTlsCaFile],
  ] as const;
  const modeName = nameOf('peerTls');
  const [given] = files.filter(([, file]) => file !== 'none').map(([name]) => name);
  const lacking = files.filter(([, file]) => file === 'none').flatMap(([name]) => name ?? []);
  if (modeName === undefined || files.some(([name]) => name === undefined)) return [];
  const secretName = nameOf('peerSecretFile');
  if (given === undefined || config.peerSecretFile !== 'none') {
    if (given !== undefined) return [`${given} and ${secretName} are both set; peers show certificates or a secret.`];
    if (config.peerTls !== 'prefer' || config.peerSecretFile !== 'none') return [];
    return [`${modeName} is prefer, but ${lacking[0]} is none; a node needs a certificate for TLS.`];
  }
  if (lacking.length === 0) return [];
  return [
    `${given} is set, but ${lacking.join(' and ')} ${lacking.length > 1 ? 'are' : 'is'} none; peers need all three.`,
  ];
}

/** A client of an open peer port has all rights of a node, so it could issue API keys to itself. */
function openPeerFaults(config: Config, nameOf: NameOf): readonly string[] {
  const { auth, peerPort, peerTls, peerTlsCertFile, peerSecretFile } = config;
  const [authName, portName, modeName] = [nameOf('auth'), nameOf('peerPort'), nameOf('peerTls')];
  const [certName, secretName] = [nameOf('peerTlsCertFile'), nameOf('peerSecretFile')];
  if (authName === undefined || portName === undefined || modeName === undefined) return [];
  const isSecured = peerTlsCertFile !== 'none' || peerSecretFile !== 'none';
  if (peerTls === 'off' && isSecured)
    return [`${modeName} is off, but ${peerTlsCertFile === 'none' ? secretName : certName} is set; leave one out.`];
  if (auth === 'off' || peerPort === 'off' || isSecured || peerTls === 'off') return [];
  return [
    `${authName} is on, but every client that reaches ${portName} has all rights of a node: set ${secretName} or ` +
      `${certName}, or ${modeName} to off when only nodes reach the port.`,
  ];
}

/** ARN of a load balancer; the group is its region. The key URLs of other partitions than `aws` are unknown here. */
const ARN = /^arn:aws:elasticloadbalancing:([\da-z-]+):\d+:loadbalancer\/app\/[^:]+$/;

function loadBalancerFaults({ albSigner, albKeysUrl }: Config, nameOf: NameOf): readonly string[] {
  const [signer, keys] = [nameOf('albSigner'), nameOf('albKeysUrl')];
  if (signer === undefined || keys === undefined || albSigner.length === 0) return [];
  const regions = new Set(albSigner.map((arn) => ARN.exec(arn)?.[1]));
  if (albKeysUrl !== 'region' || (regions.size === 1 && !regions.has(undefined))) return [];
  return [
    `${keys} is region, but ${signer} does not name load balancers of one AWS region (arn:aws:elasticloadbalancing:REGION:ACCOUNT:loadbalancer/app/…); ` +
      `set ${keys}.`,
  ];
}

interface Server {
  readonly name: string | undefined;
  readonly host: string;
  readonly port: number | 'off';
}

/** Checked before anything is opened: the second server would only report that its port is in use. */
function portFaults(config: Config, nameOf: NameOf): readonly string[] {
  const { host, grpcPort, httpPort, mcpPort, metricsPort, peerPort } = config;
  const on = (own: string): string => (own === 'auto' ? host : own);
  const servers: readonly Server[] = [
    { name: nameOf('grpcPort'), host, port: grpcPort },
    { name: nameOf('httpPort'), host, port: httpPort },
    { name: nameOf('mcpPort'), host, port: mcpPort },
    { name: nameOf('metricsPort'), host: on(config.metricsHost), port: metricsPort },
    { name: nameOf('peerPort'), host: on(config.peerHost), port: peerPort },
  ];
  return servers.flatMap((server, at) =>
    servers.slice(at + 1).flatMap((other) => {
      if (server.name === undefined || other.name === undefined || !isSamePlace(server, other)) return [];
      return [
        `${server.name} and ${other.name} are both ${server.port}; every server of a node needs a port of its own ` +
          '(0: a free one).',
      ];
    }),
  );
}

function isSamePlace(one: Server, other: Server): boolean {
  if (one.port !== other.port || one.port === 'off' || one.port === 0) return false;
  return includesHost(one.host, other.host) || includesHost(other.host, one.host);
}

/** Returns whether a server at `wide` also listens at `host`. `::` includes IPv4. Host names are not resolved. */
function includesHost(wide: string, host: string): boolean {
  if (wide.toLowerCase() === host.toLowerCase() || wide === '::') return true;
  return wide === '0.0.0.0' && isIP(host) === 4;
}
