/**
 * `cairn cluster …`: what an operator asks of a running cluster, at the port by which its nodes reach each other.
 *
 * Exit code 0: it is so. 1: it is refused, or nobody answers; the reason is on stderr. 2: the command line is
 * malformed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Address, failure, formatAddress, isNodeId, type NodeId, ok, parseAddress, type Result } from '#base';
import type { AdminReply, AdminRequest, AskAdmin, ClusterDescription } from '#cluster';
import { leadingZeroRule, parseRevisionText } from '#model';
import {
  jsonOf,
  renderCluster,
  renderDone,
  renderDraining,
  renderFinalized,
  renderRecovered,
} from './cluster-report.ts';
import { optionFaults } from './option-faults.ts';
import type { PeerTlsFiles } from './peer-tls.ts';
import { PEER_TLS_HELP, PEER_TLS_OPTIONS, readPeerTlsOptions } from './peer-tls-options.ts';
import { isRefusal } from './refusal.ts';

// An import of it would also load what it offers lazily, such as the comparison of texts for tests.
const { parseArgs } = process.getBuiltinModule('node:util');

const EXIT_REFUSED = 1;
const EXIT_USAGE = 2;
const DEFAULT_AT = '127.0.0.1:50052';
/** Longer than a node takes to ask others. */
const TIMEOUT_MS = 15_000;
const LOOK_MS = 1_000;
const NO_CATALOG =
  'Databases are recovered by the catalog, which takes most of the nodes that vote there: docs/operations/recovery.md';
/** A node that was just started may not know yet that another one leaves: whoever waits asks so often before. */
const KEPT_LOOKS = 5;
/** Whoever waits gives up after so many questions in a row that nobody has answered. */
const ASKED_IN_VAIN_MAX = 60;

const CLUSTER_HELP = `Usage: cairn cluster COMMAND [--at HOST:PORT]

  status                            Shows nodes and databases. --json prints all that is known, as JSON.
  decommission NODE                 Takes a node out of the cluster: what it holds moves to others first, then it is
                                    removed for good. Refused when something would lose its quorum.
  replace NODE [--by NODE]          The same, once the node that is to take its place has joined and answers.
  recommission NODE                 Keeps a node that is leaving.
  drain NODE                        Has a node hand over what it leads, and end as on SIGTERM; it stays a member, and is
                                    started again by whoever runs it. Refused when something would have no quorum.
  finalize                          Ends an upgrade: new things are written from now on that releases which do not know
                                    them cannot read. Refused when a node still runs such a release.
  recover DATABASE --from NODE [--accept-revision REVISION]
                                    Goes on, as another instance, with what one node holds of a database that has lost
                                    its quorum for good. What only the lost copies had is lost. Without the revision it
                                    only says what there is.

NODE is the number of a node, as status shows it. --at is the peer address of any node of the cluster, ${DEFAULT_AT}
unless it is given. --wait waits until a node that leaves is removed, or one that drains has ended. Every command may be repeated.

${PEER_TLS_HELP}`;

/** Where the output goes, and who is asked. */
export interface ClusterPorts {
  readonly ask: AskAdmin;
  /** The same by TLS. @throws DatabaseError when the files are not what they should be. */
  readonly askSecurely: (files: PeerTlsFiles) => AskAdmin;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** By default as long as it says. */
  readonly pause?: (ms: number) => Promise<void>;
}

interface Asked {
  readonly at: Address;
  readonly tls: PeerTlsFiles | undefined;
  readonly order: AdminRequest['order'];
  readonly isJson: boolean;
  readonly waits: boolean;
}

/** The exit code. */
export async function clusterCommand(args: readonly string[], ports: ClusterPorts): Promise<number> {
  const { out, err } = ports;
  if (args.includes('--help') || args[0] === 'help') {
    out(CLUSTER_HELP);
    return 0;
  }
  const asked = readArguments(args);
  if (asked.kind === 'failure') {
    for (const fault of asked.reason) err(`cairn cluster: ${fault}\n`);
    err('cairn cluster --help shows what there is.\n');
    return EXIT_USAGE;
  }
  const { tls } = asked.value;
  try {
    return await carryOut(asked.value, tls === undefined ? ports : { ...ports, ask: ports.askSecurely(tls) });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    err(`cairn cluster: ${error.message}\n`);
    return EXIT_REFUSED;
  }
}

async function carryOut(asked: Asked, ports: ClusterPorts): Promise<number> {
  const { at, order, isJson, waits } = asked;
  const { ask, out, err } = ports;
  if (order.kind === 'drain' && waits) return drainAndWait(asked, ports);
  const reply = await ask(at, { order, isPassedOn: false }, TIMEOUT_MS);
  if (reply.kind === 'described') {
    out(isJson ? `${JSON.stringify(reply.cluster, undefined, 2)}\n` : renderCluster(reply.cluster));
    return 0;
  }
  if (reply.kind === 'finalized') {
    out(isJson ? `${JSON.stringify({ level: reply.level })}\n` : renderFinalized(reply.level));
    return 0;
  }
  if (reply.kind === 'recovered') {
    out(isJson ? jsonOf(reply.database) : renderRecovered(reply.database));
    return 0;
  }
  if (reply.kind !== 'done') {
    err(`cairn cluster: ${reply.kind === 'copy' ? 'the answer is malformed' : reasonOf(reply, at, order)}\n`);
    return EXIT_REFUSED;
  }
  const render = order.kind === 'drain' ? renderDraining : renderDone;
  out(isJson ? `${JSON.stringify(reply.node, undefined, 2)}\n` : render(reply.node));
  if (!waits || reply.node.state !== 'leaving') return 0;
  return awaitRemoval(at, reply.node.node, ports);
}

/** The node goes on leaving when nobody waits any more. */
async function awaitRemoval(at: Address, node: NodeId, ports: ClusterPorts): Promise<number> {
  const { out, err } = ports;
  let said = -1;
  let kept = 0;
  for await (const { nodes } of looks([at], ports)) {
    const found = nodes.find((each) => each.node === node);
    if (found?.state === 'removed') {
      out(renderDone(found));
      return 0;
    }
    kept = found?.state === 'active' ? kept + 1 : 0;
    if (kept === KEPT_LOOKS) {
      err(`cairn cluster: node ${node} does not leave any more; somebody has recommissioned it\n`);
      return EXIT_REFUSED;
    }
    if (found !== undefined && found.copies !== said) err(`node ${node} still holds ${found.copies} databases\n`);
    said = found?.copies ?? said;
  }
  err(
    `cairn cluster: nobody answers any more; node ${node} goes on leaving, which status shows at any node that answers\n`,
  );
  return EXIT_REFUSED;
}

/** The node that is asked may be the one that ends: who else is there is looked up before. */
async function drainAndWait(asked: Asked, ports: ClusterPorts): Promise<number> {
  const { at, order } = asked;
  const reply = await ports.ask(at, { order: { kind: 'describe' }, isPassedOn: false }, TIMEOUT_MS);
  const places = reply.kind === 'described' ? placesBeside(at, reply.cluster) : [];
  const code = await carryOut({ ...asked, waits: false }, ports);
  return code === 0 && order.kind === 'drain' ? awaitEnd([at, ...places], order.node, ports) : code;
}

/** Asks the others whether the node is there; whoever runs it may have started it again in between. */
async function awaitEnd(known: readonly Address[], node: NodeId, ports: ClusterPorts): Promise<number> {
  const { out, err } = ports;
  for await (const { nodes } of looks(known, ports)) {
    const found = nodes.find((each) => each.node === node);
    if (found?.answers === true && found.isDraining) continue;
    out(found?.answers === true ? `node ${node} has ended, and is back\n` : `node ${node} has ended\n`);
    return 0;
  }
  err(`cairn cluster: nobody answers any more who could say whether node ${node} has ended\n`);
  return EXIT_REFUSED;
}

/**
 * The cluster as it is every now and then, until nobody answers any more. The node that is asked may be the one that
 * leaves or ends, so whoever else is there is asked when it does not answer.
 */
async function* looks(
  known: readonly Address[],
  { ask, pause = sleep }: ClusterPorts,
): AsyncGenerator<ClusterDescription, void> {
  let places = known;
  for (let inVain = 0; inVain < ASKED_IN_VAIN_MAX; ) {
    await pause(LOOK_MS);
    const [place, ...others] = places;
    if (place === undefined) return;
    const reply = await ask(place, { order: { kind: 'describe' }, isPassedOn: false }, TIMEOUT_MS);
    if (reply.kind === 'described') {
      inVain = 0;
      places = [place, ...placesBeside(place, reply.cluster)];
      yield reply.cluster;
    } else {
      inVain += 1;
      places = [...others, place];
    }
  }
}

function placesBeside(place: Address, { nodes }: ClusterDescription): readonly Address[] {
  const there = nodes.filter(({ state, peer }) => state !== 'removed' && peer.port !== 0);
  return there.map(({ peer }) => peer).filter((peer) => formatAddress(peer) !== formatAddress(place));
}

function reasonOf(
  reply: Extract<AdminReply, { readonly reason: string }>,
  at: Address,
  order: AdminRequest['order'],
): string {
  if (reply.kind === 'faulty') return reply.reason;
  if (order.kind === 'recover') return `${unanswered(reply.reason, at)}. ${NO_CATALOG}`;
  return unanswered(reply.reason, at);
}

function unanswered(reason: string, at: Address): string {
  return `no answer from ${formatAddress(at)} (${reason}); name the peer address of a running node by --at, and ask again`;
}

function readArguments(args: readonly string[]): Result<Asked, readonly string[]> {
  const options = {
    'accept-revision': { type: 'string' },
    at: { type: 'string' },
    by: { type: 'string' },
    from: { type: 'string' },
    json: { type: 'boolean' },
    wait: { type: 'boolean' },
    ...PEER_TLS_OPTIONS,
  } as const;
  const malformed = optionFaults(args, options);
  if (malformed.length > 0) return failure(malformed);
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const { at = DEFAULT_AT, json: isJson = false, wait: waits = false } = values;
  const faults: string[] = [];
  const order = readOrder(positionals, values, faults);
  const address = parseAddress(at);
  if (address === undefined) faults.push(`--at is ${JSON.stringify(at)}; it must be host:port`);
  const tls = readPeerTlsOptions(values);
  if (tls.kind === 'failure') return failure([...faults, tls.reason]);
  if (order === undefined || address === undefined || faults.length > 0) return failure(faults);
  return ok({ at: address, tls: tls.value, order, isJson, waits });
}

/** What belongs to some commands only. */
interface OrderOptions {
  readonly by?: string;
  readonly from?: string;
  readonly 'accept-revision'?: string;
}

function readOrder(
  [command, text, ...more]: readonly string[],
  { by, ...recovery }: OrderOptions,
  faults: string[],
): AdminRequest['order'] | undefined {
  if (more.length > 0) faults.push(`${JSON.stringify(more.join(' '))} is one word too many`);
  if (by !== undefined && command !== 'replace') faults.push('--by is only for replace');
  if (command === 'recover') return readRecovery(text, recovery, faults);
  if (recovery.from !== undefined) faults.push('--from is only for recover');
  if (recovery['accept-revision'] !== undefined) faults.push('--accept-revision is only for recover');
  if (command === 'status') {
    if (text !== undefined) faults.push('status is asked for the whole cluster, not for a node');
    return { kind: 'describe' };
  }
  if (command === 'finalize') {
    if (text !== undefined) faults.push('finalize is asked for the whole cluster, not for a node');
    return { kind: 'finalize' };
  }
  if (!isOfNode(command)) {
    faults.push(`${JSON.stringify(command ?? '')} is no command; there are ${COMMANDS.join(', ')}`);
    return undefined;
  }
  const node = readNode(text, `${command} is asked for a node`, faults);
  if (command === 'drain') return node && { kind: command, node, isGranted: false };
  if (command !== 'replace') return node && { kind: command, node };
  const successor = by === undefined ? undefined : readNode(by, '--by', faults);
  return node && { kind: command, node, by: successor };
}

const NODE_COMMANDS = ['decommission', 'replace', 'recommission', 'drain'] as const;
const COMMANDS = ['status', ...NODE_COMMANDS, 'finalize', 'recover'] as const;

function isOfNode(command: string | undefined): command is (typeof NODE_COMMANDS)[number] {
  return NODE_COMMANDS.some((each) => each === command);
}

function readRecovery(
  name: string | undefined,
  { from, 'accept-revision': accepted }: Omit<OrderOptions, 'by'>,
  faults: string[],
): AdminRequest['order'] | undefined {
  if (name === undefined) faults.push('recover is asked for a database; status shows their names');
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
  faults.push(`${what}: ${JSON.stringify(text ?? '')} is not its number, which status shows`);
  return undefined;
}
