/** Settings of which each is right by itself, and that do not go together. */
import { isIP } from 'node:net';
import { formatBytes } from './setting.ts';
import type { Config } from './settings.ts';

/** `defaultHardBytes` of #storage, in segments: it is not loaded for a command that starts no node (config.test.ts). */
const HARD_SEGMENTS = 2;

/** What the user calls a setting; undefined: nothing is to be said of it. */
export type NameOf = (key: keyof Config) => string | undefined;

/** Every fault as one sentence that names both settings as the user does. */
export function faultsBetween(config: Config, nameOf: NameOf): readonly string[] {
  return [
    ...diskFaults(config, nameOf),
    ...joinFaults(config, nameOf),
    ...hostFaults(config, nameOf),
    ...portFaults(config, nameOf),
    ...bootstrapFaults(config, nameOf),
    ...basicFaults(config, nameOf),
    ...burstFaults(config, nameOf),
    ...tlsFaults(config, nameOf),
    ...peerTlsFaults(config, nameOf),
    ...openPeerFaults(config, nameOf),
    ...certificateFaults(config, nameOf),
    ...tokenFaults(config, nameOf),
    ...loadBalancerFaults(config, nameOf),
    ...signedHeaderFaults(config, nameOf),
    ...extractorFaults(config, nameOf),
  ];
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
        `${formatBytes(follows)}. It must be at least that, or ${hardName} be set.`,
    ];
  }
  if (hard <= soft) return [];
  return [`${hardName} (${formatBytes(hard)}) is above ${softName} (${formatBytes(soft)}); it must be at most that.`];
}

function joinFaults({ join, peerPort }: Config, nameOf: NameOf): readonly string[] {
  const [joinName, portName] = [nameOf('join'), nameOf('peerPort')];
  if (joinName === undefined || portName === undefined || join.length === 0 || peerPort !== 'off') return [];
  return [
    `${joinName} is set, but ${portName} is off; other nodes must be able to dial this one: ` +
      'give it a port, usually 50052.',
  ];
}

/** An address of a server that is off would be listened on by nobody. */
function hostFaults(config: Config, nameOf: NameOf): readonly string[] {
  const servers = [
    { host: 'peerHost', port: 'peerPort', usual: 50_052 },
    { host: 'metricsHost', port: 'metricsPort', usual: 9464 },
  ] as const;
  return servers.flatMap(({ host, port, usual }) => {
    const [hostName, portName] = [nameOf(host), nameOf(port)];
    if (hostName === undefined || portName === undefined || config[host] === 'auto' || config[port] !== 'off')
      return [];
    return [`${hostName} is set, but ${portName} is off, so nothing listens there: give it a port, usually ${usual}.`];
  });
}

/** Whoever gives a key means that one is needed. */
function bootstrapFaults({ auth, authBootstrapKeyFile }: Config, nameOf: NameOf): readonly string[] {
  const [authName, fileName] = [nameOf('auth'), nameOf('authBootstrapKeyFile')];
  if (authName === undefined || fileName === undefined || auth === 'on' || authBootstrapKeyFile === 'none') return [];
  return [`${fileName} is set, but ${authName} is off, so nobody would be asked for a key; set ${authName} to on.`];
}

/** Whoever has people sign in means that they have to. */
function basicFaults({ auth, authBasic }: Config, nameOf: NameOf): readonly string[] {
  const [authName, basicName] = [nameOf('auth'), nameOf('authBasic')];
  if (authName === undefined || basicName === undefined || auth === 'on' || authBasic !== 'on') return [];
  return [`${basicName} is on, but ${authName} is off, so nobody would be asked to sign in; set ${authName} to on.`];
}

/** Whoever says how many at once means that there is a limit. */
function burstFaults({ rateLimitPerSecond, rateLimitBurst }: Config, nameOf: NameOf): readonly string[] {
  const [rateName, burstName] = [nameOf('rateLimitPerSecond'), nameOf('rateLimitBurst')];
  if (rateName === undefined || burstName === undefined) return [];
  if (rateLimitPerSecond !== 'off' || rateLimitBurst === 'auto') return [];
  return [`${burstName} is set, but ${rateName} is off, so nobody would be limited; give it a rate, such as 100.`];
}

/** A certificate without its key is of no use, and asking clients for one takes both. */
function tlsFaults(config: Config, nameOf: NameOf): readonly string[] {
  const [certName, keyName, clientName] = [nameOf('tlsCertFile'), nameOf('tlsKeyFile'), nameOf('tlsClientCaFile')];
  const [hasCert, hasKey] = [config.tlsCertFile !== 'none', config.tlsKeyFile !== 'none'];
  if (certName === undefined || keyName === undefined) return [];
  if (hasCert && !hasKey) return [`${certName} is set, but ${keyName} is none; a certificate is of use with its key.`];
  if (hasKey && !hasCert) return [`${keyName} is set, but ${certName} is none; a key is of use with its certificate.`];
  if (hasCert || clientName === undefined || config.tlsClientCaFile === 'none') return [];
  return [`${clientName} is set, but ${certName} is none; clients show certificates to a port that speaks TLS.`];
}

/** Peers show a certificate to each other: none of the three is of use without the others. */
function peerTlsFaults(config: Config, nameOf: NameOf): readonly string[] {
  const files = [
    [nameOf('peerTlsCertFile'), config.peerTlsCertFile],
    [nameOf('peerTlsKeyFile'), config.peerTlsKeyFile],
    [nameOf('peerTlsCaFile'), config.peerTlsCaFile],
  ] as const;
  const [portName, modeName] = [nameOf('peerPort'), nameOf('peerTls')];
  const [given] = files.filter(([, file]) => file !== 'none').map(([name]) => name);
  const lacking = files.filter(([, file]) => file === 'none').flatMap(([name]) => name ?? []);
  if (portName === undefined || modeName === undefined || files.some(([name]) => name === undefined)) return [];
  const secretName = nameOf('peerSecretFile');
  if (given === undefined || config.peerSecretFile !== 'none') {
    if (given !== undefined) return [`${given} and ${secretName} are both set; peers show certificates or a secret.`];
    if (config.peerSecretFile !== 'none' && config.peerPort === 'off')
      return [
        `${secretName} is set, but ${portName} is off, so nobody is asked for it: give it a port, usually 50052.`,
      ];
    if (config.peerTls !== 'prefer' || config.peerSecretFile !== 'none') return [];
    return [`${modeName} is prefer, but ${lacking[0]} is none; a node that has no certificate speaks no TLS.`];
  }
  if (lacking.length > 0)
    return [
      `${given} is set, but ${lacking.join(' and ')} ${lacking.length > 1 ? 'are' : 'is'} none; peers need all three.`,
    ];
  if (config.peerPort !== 'off') return [];
  return [`${given} is set, but ${portName} is off, so nothing speaks TLS there: give it a port, usually 50052.`];
}

/** Who reaches the port of peers without a credential becomes a node, and a node gives keys to whom it likes. */
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
    `${authName} is on, but ${portName} lets in everybody as a node, which may give keys to anybody: set ${secretName} or ` +
      `${certName}, or say ${modeName} off where nobody else reaches it.`,
  ];
}

/** Whoever gives roles to certificates means that somebody is identified by one. */
function certificateFaults(config: Config, nameOf: NameOf): readonly string[] {
  const { auth, authCertificateRoles, tlsClientCaFile } = config;
  const [rolesName, authName, fileName] = [nameOf('authCertificateRoles'), nameOf('auth'), nameOf('tlsClientCaFile')];
  if (rolesName === undefined || authName === undefined || fileName === undefined) return [];
  if (authCertificateRoles.length === 0) return [];
  if (auth === 'off') return [`${rolesName} is set, but ${authName} is off, so that everybody may do everything.`];
  if (tlsClientCaFile !== 'none') return [];
  return [`${rolesName} is set, but ${fileName} is none, so that no client is asked for a certificate.`];
}

/** Whoever names a provider means that its tokens are asked for, and which of them. */
function tokenFaults({ auth, oidcIssuer, oidcAudience, mcpUrl }: Config, nameOf: NameOf): readonly string[] {
  const [authName, issuer, audience] = [nameOf('auth'), nameOf('oidcIssuer'), nameOf('oidcAudience')];
  const place = nameOf('mcpUrl');
  if (authName === undefined || issuer === undefined || audience === undefined || place === undefined) return [];
  if (oidcIssuer === 'none') {
    if (mcpUrl !== 'auto') return [`${place} is set, but ${issuer} is none, so nobody is told of it.`];
    return oidcAudience.length === 0 ? [] : [`${audience} is set, but ${issuer} is none, so there are no tokens.`];
  }
  if (auth === 'off') {
    return [`${issuer} is set, but ${authName} is off, so nobody would be asked for a token; set ${authName} to on.`];
  }
  if (oidcAudience.length > 0) return [];
  return [`${issuer} is set, but ${audience} is none: tokens that were issued for other services would be taken.`];
}

/** Of one region of the partition whose places of keys are known, unless it is said where they are. */
const ARN = /^arn:aws:elasticloadbalancing:([\da-z-]+):\d+:loadbalancer\/app\/[^:]+$/;

function loadBalancerFaults({ auth, albSigner, albKeysUrl }: Config, nameOf: NameOf): readonly string[] {
  const [authName, signer, keys] = [nameOf('auth'), nameOf('albSigner'), nameOf('albKeysUrl')];
  if (authName === undefined || signer === undefined || keys === undefined || albSigner.length === 0) return [];
  if (auth === 'off') return [`${signer} is set, but ${authName} is off, so nobody would look; set ${authName} to on.`];
  const regions = new Set(albSigner.map((arn) => ARN.exec(arn)?.[1]));
  if (albKeysUrl !== 'region' || (regions.size === 1 && !regions.has(undefined))) return [];
  return [
    `${keys} is region, but ${signer} is not of one region of AWS (arn:aws:elasticloadbalancing:REGION:ACCOUNT:loadbalancer/app/…); ` +
      `set ${keys}.`,
  ];
}

function signedHeaderFaults(config: Config, nameOf: NameOf): readonly string[] {
  const { auth, signedHeader, signedHeaderKeys, signedHeaderIssuer, signedHeaderAudience } = config;
  const [authName, header] = [nameOf('auth'), nameOf('signedHeader')];
  if (authName === undefined || header === undefined || signedHeader === 'none') return [];
  if (auth === 'off') return [`${header} is set, but ${authName} is off, so nobody would look; set ${authName} to on.`];
  const lacking = [
    signedHeaderKeys === 'none' && nameOf('signedHeaderKeys'),
    signedHeaderIssuer === 'none' && nameOf('signedHeaderIssuer'),
    signedHeaderAudience.length === 0 && nameOf('signedHeaderAudience'),
  ].filter((name) => typeof name === 'string');
  return lacking.map((name) => `${header} is set, but ${name} is none; nobody could tell whose its tokens are.`);
}

function extractorFaults({ auth, authExtractorModule }: Config, nameOf: NameOf): readonly string[] {
  const [authName, module] = [nameOf('auth'), nameOf('authExtractorModule')];
  if (authName === undefined || module === undefined || auth === 'on' || authExtractorModule === 'none') return [];
  return [`${module} is set, but ${authName} is off, so nobody would ask it; set ${authName} to on.`];
}

interface Server {
  readonly name: string | undefined;
  readonly host: string;
  readonly port: number | 'off';
}

/** Found here, before anything is opened: the second of two servers would be told that somebody has its port. */
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

/** Whether who listens at the first listens at the second; `::` takes IPv4, too. Nobody asks what a name means. */
function includesHost(wide: string, host: string): boolean {
  if (wide.toLowerCase() === host.toLowerCase() || wide === '::') return true;
  return wide === '0.0.0.0' && isIP(host) === 4;
}
