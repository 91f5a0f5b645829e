/**
 * Parses the command line of `cairn cluster …`. Without an address, the node of the same container is found by its
 * environment variables (settings.ts).
 */
import { COPIES_MAX, failure, isNodeId, type NodeId, ok, parseAddress, type Result } from '#base';
import type { AdminRequest, DialledAddress } from '#cluster';
import { leadingZeroRule, parseRevisionText } from '#model';
import { variableName } from '../../settings/setting.ts';
import type { PeerTlsFiles } from '../../tls/peer-tls.ts';
import { type Environment, misplacedOptions, type Values as ValuesOf } from '../options.ts';
import { readPeerTlsOptions } from '../peer-tls-options.ts';

type Order = AdminRequest['order'];
type DrainOrder = Extract<Order, { readonly kind: 'drain' | 'undrain' }>;

export const DRAIN_SECONDS_DEFAULT = 30;
const DRAIN_SECONDS_MAX = 3_600;

export interface Asked {
  readonly at: DialledAddress;
  readonly tls: PeerTlsFiles | undefined;
  /** Undefined: the request goes to the peer port. */
  readonly client: ClientFiles | undefined;
  /** A drain without a node is for the node that the command connects to. */
  readonly order: Exclude<Order, DrainOrder> | OfSomeNode<DrainOrder>;
  readonly isJson: boolean;
  readonly waits: boolean;
  /** `--timeout` of `drain --stay`. */
  readonly withinMs: number;
  /** `--linger`: the minimum duration of `drain --stay`. */
  readonly lingerMs: number;
}

/** Credentials of a client of the gRPC port. */
export interface ClientFiles {
  readonly keyFile: string | undefined;
  readonly isTls: boolean;
  readonly tlsCaFile: string | undefined;
  readonly tlsCertFile: string | undefined;
  readonly tlsKeyFile: string | undefined;
}

type OfSomeNode<T> = T extends unknown ? Omit<T, 'node'> & { readonly node: NodeId | undefined } : never;

/** Options of `cairn cluster`. */
export const OPTIONS = {
  'accept-revision': { type: 'string', of: 'recover' },
  address: { type: 'string' },
  at: { type: 'string' },
  by: { type: 'string', of: 'replace' },
  'dry-run': { type: 'boolean', of: 'drain' },
  from: { type: 'string', of: 'recover' },
  json: { type: 'boolean' },
  'key-file': { type: 'string' },
  linger: { type: 'string', of: 'drain' },
  stay: { type: 'boolean', of: 'drain' },
  timeout: { type: 'string', of: 'drain' },
  'tls-ca-file': { type: 'string' },
  'tls-cert-file': { type: 'string' },
  'tls-key-file': { type: 'string' },
  wait: { type: 'boolean' },
  'peer-tls-ca-file': { type: 'string' },
  'peer-tls-cert-file': { type: 'string' },
  'peer-tls-key-file': { type: 'string' },
  'peer-secret-file': { type: 'string' },
} as const;

type Values = ValuesOf<typeof OPTIONS>;

export function readArguments(
  values: Values,
  words: readonly string[],
  environment: Environment,
): Result<Asked, readonly string[]> {
  const faults = [...misplacedOptions(values, OPTIONS, words[0])];
  const order = readOrder(words, values, faults);
  const { at, json: isJson = false, wait: waits = false } = values;
  const client = readClient(values, faults);
  const own = at === undefined ? localNode(environment) : parseAddress(at);
  if (own === undefined) faults.push(`--at is ${JSON.stringify(at)}; it must be host:port`);
  const address = client?.at ?? own;
  const tls = readPeerTlsOptions(values, environment);
  if (tls.kind === 'failure') return failure([...faults, tls.reason]);
  const withinMs = 1000 * readSeconds('timeout', values.timeout ?? String(DRAIN_SECONDS_DEFAULT), faults);
  const lingerMs = 1000 * readSeconds('linger', values.linger ?? '0', faults);
  if (order === undefined || address === undefined || faults.length > 0) return failure(faults);
  return ok({ at: address, tls: tls.value, client: client?.files, order, isJson, waits, withinMs, lingerMs });
}

const CLIENT_OPTIONS = ['key-file', 'tls-ca-file', 'tls-cert-file', 'tls-key-file'] as const;
const HTTPS = 'https://';

/** With --address: the gRPC address of a node, and the credentials for it. */
function readClient(
  values: Values,
  faults: string[],
): { readonly at: DialledAddress; readonly files: ClientFiles } | undefined {
  const { address: text } = values;
  if (text === undefined) {
    for (const name of CLIENT_OPTIONS) if (values[name] !== undefined) faults.push(`--${name} is only with --address`);
    return undefined;
  }
  if (values.at !== undefined)
    faults.push('--at is the peer address and --address the gRPC address: give one of the two');
  const { 'tls-ca-file': tlsCaFile, 'tls-cert-file': tlsCertFile, 'tls-key-file': tlsKeyFile } = values;
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined)) {
    faults.push('--tls-cert-file and --tls-key-file must be given together');
  }
  const isTls = text.startsWith(HTTPS) || (tlsCaFile ?? tlsCertFile) !== undefined;
  const at = parseAddress(text.startsWith(HTTPS) ? text.slice(HTTPS.length) : text);
  if (at === undefined) faults.push(`--address is ${JSON.stringify(text)}; it must be host:port or https://host:port`);
  return at && { at, files: { keyFile: values['key-file'], isTls, tlsCaFile, tlsCertFile, tlsKeyFile } };
}

const HOST_DEFAULT = '127.0.0.1';
const PORT_DEFAULT = 50_052;
const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::', 'auto']);

/**
 * Peer address of the node in this container. The connection goes to the address that the node listens on; its
 * certificate is for the advertised host.
 */
function localNode(environment: Environment): DialledAddress {
  const of = (name: string): string | undefined => environment[variableName(name)];
  const listening = [of('peerHost'), of('host')].find((host) => host !== undefined && !EVERY_ADDRESS.has(host));
  const ip = listening ?? HOST_DEFAULT;
  const advertised = of('advertiseHost') ?? 'auto';
  const port = Number(of('peerPort'));
  return {
    host: advertised === 'auto' ? ip : advertised,
    port: Number.isSafeInteger(port) && port > 0 ? port : PORT_DEFAULT,
    ip,
  };
}

function readOrder(
  [command, text, ...more]: readonly string[],
  options: Values,
  faults: string[],
): Asked['order'] | undefined {
  if (command === 'copies') return readCopies([text, ...more], faults);
  if (more.length > 0) faults.push(`unexpected argument ${JSON.stringify(more.join(' '))}`);
  switch (command) {
    case 'recover':
      return readRecovery(text, options, faults);
    case 'status':
    case 'finalize':
      if (text !== undefined) faults.push(`${command} applies to the whole cluster, not to a node`);
      return { kind: command === 'status' ? 'describe' : command };
    case 'undrain':
      return { kind: command, node: text === undefined ? undefined : readNode(text, command, faults) };
    case 'drain':
      return readDrain(text, options, faults);
    case 'replace':
    case 'decommission':
    case 'recommission': {
      const node = readNode(text, `${command} needs a node`, faults);
      if (command !== 'replace') return node && { kind: command, node };
      const { by } = options;
      return node && { kind: command, node, by: by === undefined ? undefined : readNode(by, '--by', faults) };
    }
    case undefined:
    default:
      faults.push(`unknown command ${JSON.stringify(command ?? '')}; commands are ${COMMANDS}`);
      return undefined;
  }
}

const COMMANDS = 'status, decommission, replace, recommission, drain, undrain, finalize, recover, copies';

/** A drain that stops the node must name it, so that a forgotten argument stops no node. */
function readDrain(
  text: string | undefined,
  { stay: stays = false, 'dry-run': isDryRun = false }: Values,
  faults: string[],
): Asked['order'] {
  const isNamed = text !== undefined || !(stays || isDryRun);
  const node = isNamed ? readNode(text, 'drain needs a node', faults) : undefined;
  return { kind: 'drain', node, isGranted: false, stays, isDryRun };
}

function readCopies([name, text, ...more]: readonly (string | undefined)[], faults: string[]): Asked['order'] {
  if (more.length > 0) faults.push(`unexpected argument ${JSON.stringify(more.join(' '))}`);
  if (name === undefined) faults.push('copies needs the name of a database; status shows them');
  const copies = text === 'default' ? 0 : Number(text);
  if (text !== 'default' && !(/^\d$/.test(text ?? '') && copies >= 1 && copies <= COPIES_MAX)) {
    faults.push(`copies is ${JSON.stringify(text ?? '')}; it must be a number from 1 to ${COPIES_MAX}, or default`);
  }
  return { kind: 'set-copies', name: name ?? '', databaseId: undefined, copies };
}

function readRecovery(
  name: string | undefined,
  { from, 'accept-revision': accepted }: Values,
  faults: string[],
): Asked['order'] | undefined {
  if (name === undefined) faults.push('recover needs the name of a database; status shows them');
  const node = readNode(from, '--from', faults);
  const acceptRevision = accepted === undefined ? undefined : readRevision(accepted, faults);
  if (name === undefined || node === undefined) return undefined;
  return { kind: 'recover', name, from: node, acceptRevision };
}

function readRevision(text: string, faults: string[]): number | undefined {
  const revision = parseRevisionText(text);
  if (typeof revision === 'number') return revision;
  faults.push(`--accept-revision is ${JSON.stringify(text)}; it must be a revision${leadingZeroRule(text)}`);
  return undefined;
}

function readNode(text: string | undefined, what: string, faults: string[]): NodeId | undefined {
  const value = /^\d+$/.test(text ?? '') ? Number(text) : 0;
  if (isNodeId(value)) return value;
  faults.push(`${what}: ${JSON.stringify(text ?? '')} is not a node number; status shows them`);
  return undefined;
}

function readSeconds(name: string, text: string, faults: string[]): number {
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (seconds < 0 || seconds > DRAIN_SECONDS_MAX) {
    faults.push(`--${name} is ${JSON.stringify(text)}; it must be seconds, 0 to ${DRAIN_SECONDS_MAX}`);
  }
  return seconds;
}
