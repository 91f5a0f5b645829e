/** Finds settings that are valid alone but contradict each other. */
import { isIP } from 'node:net';
import { formatBytes } from './setting.ts';
import type { Config } from './settings.ts';

/** `defaultHardBytes` of #storage, in segments: it is not loaded for a command that starts no node (config.test.ts). */
const HARD_SEGMENTS = 2;

/** Name of a setting as the user wrote it; `undefined` when the setting is malformed and already reported. */
export type NameOf = (key: keyof Config) => string | undefined;

/** Returns one sentence per fault; it names both settings as the user wrote them. */
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
        `${formatBytes(follows)}. Raise ${softName} to at least that, or set ${hardName}.`,
    ];
  }
  if (hard <= soft) return [];
  return [`${hardName} (${formatBytes(hard)}) is above ${softName} (${formatBytes(soft)}); it must be at most that.`];
}

function joinFaults({ join, peerPort }: Config, nameOf: NameOf): readonly string[] {
  const [joinName, portName] = [nameOf('join'), nameOf('peerPort')];
  if (joinName === undefined || portName === undefined || join.length === 0 || peerPort !== 'off') return [];
  return [
    `${joinName} is set, but ${portName} is off; other nodes must be able to connect to this one: ` +
      'give it a port, usually 50052.',
  ];
}

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

function bootstrapFaults({ auth, authBootstrapKeyFile }: Config, nameOf: NameOf): readonly string[] {
  const [authName, fileName] = [nameOf('auth'), nameOf('authBootstrapKeyFile')];
  if (authName === undefined || fileName === undefined || auth === 'on' || authBootstrapKeyFile === 'none') return [];
  return [`${fileName} is set, but ${authName} is off, so the key would have no effect; set ${authName} to on.`];
}

function basicFaults({ auth, authBasic }: Config, nameOf: NameOf): readonly string[] {
  const [authName, basicName] = [nameOf('auth'), nameOf('authBasic')];
  if (authName === undefined || basicName === undefined || auth === 'on' || authBasic !== 'on') return [];
  return [`${basicName} is on, but ${authName} is off, so sign-in would have no effect; set ${authName} to on.`];
}

function burstFaults({ rateLimitPerSecond, rateLimitBurst }: Config, nameOf: NameOf): readonly string[] {
  const [rateName, burstName] = [nameOf('rateLimitPerSecond'), nameOf('rateLimitBurst')];
  if (rateName === undefined || burstName === undefined) return [];
  if (rateLimitPerSecond !== 'off' || rateLimitBurst === 'auto') return [];
  return [`${burstName} is set, but ${rateName} is off, so there is no limit; give it a rate, such as 100.`];
}

/** A certificate needs its key, and client certificates need both. */
function tlsFaults(config: Config, nameOf: NameOf): readonly string[] {
  const [certName, keyName, clientName] = [nameOf('tlsCertFile'), nameOf('tlsKeyFile'), nameOf('tlsClientCaFile')];
  const [hasCert, hasKey] = [config.tlsCertFile !== 'none', config.tlsKeyFile !== 'none'];
  if (certName === undefined || keyName === undefined) return [];
  if (hasCert && !hasKey) return [`${certName} is set, but ${keyName} is none; a certificate needs its key.`];
  if (hasKey && !hasCert) return [`${keyName} is set, but ${certName} is none; a key needs its certificate.`];
  if (hasCert || clientName === undefined || config.tlsClientCaFile === 'none') return [];
  return [`${clientName} is set, but ${certName} is none; client certificates need a port with TLS.`];
}

/** Peers authenticate each other by certificates, so the three files are needed together. */
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
        `${secretName} is set, but ${portName} is off, so the secret has no effect: give it a port, usually 50052.`,
      ];
    if (config.peerTls !== 'prefer' || config.peerSecretFile !== 'none') return [];
    return [`${modeName} is prefer, but ${lacking[0]} is none; a node needs a certificate for TLS.`];
  }
  if (lacking.length > 0)
    return [
      `${given} is set, but ${lacking.join(' and ')} ${lacking.length > 1 ? 'are' : 'is'} none; peers need all three.`,
    ];
  if (config.peerPort !== 'off') return [];
  return [`${given} is set, but ${portName} is off, so the certificate has no effect: give it a port, usually 50052.`];
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

function certificateFaults(config: Config, nameOf: NameOf): readonly string[] {
  const { auth, authCertificateRoles, tlsClientCaFile } = config;
  const [rolesName, authName, fileName] = [nameOf('authCertificateRoles'), nameOf('auth'), nameOf('tlsClientCaFile')];
  if (rolesName === undefined || authName === undefined || fileName === undefined) return [];
  if (authCertificateRoles.length === 0) return [];
  if (auth === 'off')
    return [`${rolesName} is set, but ${authName} is off, so every client may do everything; set ${authName} to on.`];
  if (tlsClientCaFile !== 'none') return [];
  return [`${rolesName} is set, but ${fileName} is none, so no client is asked for a certificate.`];
}

function tokenFaults({ auth, oidcIssuer, oidcAudience, mcpUrl }: Config, nameOf: NameOf): readonly string[] {
  const [authName, issuer, audience] = [nameOf('auth'), nameOf('oidcIssuer'), nameOf('oidcAudience')];
  const url = nameOf('mcpUrl');
  if (authName === undefined || issuer === undefined || audience === undefined || url === undefined) return [];
  if (oidcIssuer === 'none') {
    if (mcpUrl !== 'auto') return [`${url} is set, but ${issuer} is none, so it has no effect.`];
    return oidcAudience.length === 0 ? [] : [`${audience} is set, but ${issuer} is none, so no tokens are accepted.`];
  }
  if (auth === 'off') {
    return [`${issuer} is set, but ${authName} is off, so no token would be checked; set ${authName} to on.`];
  }
  if (oidcAudience.length > 0) return [];
  return [`${issuer} is set, but ${audience} is none: tokens issued for other services would be accepted.`];
}

/** ARN of a load balancer; the group is its region. The key URLs of other partitions than `aws` are unknown here. */
const ARN = /^arn:aws:elasticloadbalancing:([\da-z-]+):\d+:loadbalancer\/app\/[^:]+$/;

function loadBalancerFaults({ auth, albSigner, albKeysUrl }: Config, nameOf: NameOf): readonly string[] {
  const [authName, signer, keys] = [nameOf('auth'), nameOf('albSigner'), nameOf('albKeysUrl')];
  if (authName === undefined || signer === undefined || keys === undefined || albSigner.length === 0) return [];
  if (auth === 'off')
    return [`${signer} is set, but ${authName} is off, so the header would be ignored; set ${authName} to on.`];
  const regions = new Set(albSigner.map((arn) => ARN.exec(arn)?.[1]));
  if (albKeysUrl !== 'region' || (regions.size === 1 && !regions.has(undefined))) return [];
  return [
    `${keys} is region, but ${signer} does not name load balancers of one AWS region (arn:aws:elasticloadbalancing:REGION:ACCOUNT:loadbalancer/app/…); ` +
      `set ${keys}.`,
  ];
}

function signedHeaderFaults(config: Config, nameOf: NameOf): readonly string[] {
  const { auth, signedHeader, signedHeaderKeys, signedHeaderIssuer, signedHeaderAudience } = config;
  const [authName, header] = [nameOf('auth'), nameOf('signedHeader')];
  if (authName === undefined || header === undefined || signedHeader === 'none') return [];
  if (auth === 'off')
    return [`${header} is set, but ${authName} is off, so the header would be ignored; set ${authName} to on.`];
  const lacking = [
    signedHeaderKeys === 'none' && nameOf('signedHeaderKeys'),
    signedHeaderIssuer === 'none' && nameOf('signedHeaderIssuer'),
    signedHeaderAudience.length === 0 && nameOf('signedHeaderAudience'),
  ].filter((name) => typeof name === 'string');
  return lacking.map((name) => `${header} is set, but ${name} is none; without it tokens cannot be verified.`);
}

function extractorFaults({ auth, authExtractorModule }: Config, nameOf: NameOf): readonly string[] {
  const [authName, module] = [nameOf('auth'), nameOf('authExtractorModule')];
  if (authName === undefined || module === undefined || auth === 'on' || authExtractorModule === 'none') return [];
  return [`${module} is set, but ${authName} is off, so it would never be called; set ${authName} to on.`];
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

/** Whether a server at `wide` also listens at `host`. `::` includes IPv4. Host names are not resolved. */
function includesHost(wide: string, host: string): boolean {
  if (wide.toLowerCase() === host.toLowerCase() || wide === '::') return true;
  return wide === '0.0.0.0' && isIP(host) === 4;
}
