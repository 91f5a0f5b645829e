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
    ...peerHostFaults(config, nameOf),
    ...portFaults(config, nameOf),
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

/** Whoever names the address means to be reached there, and nobody could. */
function peerHostFaults({ peerHost, peerPort }: Config, nameOf: NameOf): readonly string[] {
  const [hostName, portName] = [nameOf('peerHost'), nameOf('peerPort')];
  if (hostName === undefined || portName === undefined || peerHost === 'auto' || peerPort !== 'off') return [];
  return [`${hostName} is set, but ${portName} is off, so nothing listens there: give it a port, usually 50052.`];
}

interface Server {
  readonly name: string | undefined;
  readonly host: string;
  readonly port: number | 'off';
}

/** Found here, before anything is opened: the second of two servers would be told that somebody has its port. */
function portFaults(config: Config, nameOf: NameOf): readonly string[] {
  const { host, grpcPort, httpPort, mcpPort, metricsPort, peerPort } = config;
  const peerHost = config.peerHost === 'auto' ? host : config.peerHost;
  const servers: readonly Server[] = [
    { name: nameOf('grpcPort'), host, port: grpcPort },
    { name: nameOf('httpPort'), host, port: httpPort },
    { name: nameOf('mcpPort'), host, port: mcpPort },
    { name: nameOf('metricsPort'), host, port: metricsPort },
    { name: nameOf('peerPort'), host: peerHost, port: peerPort },
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
