/**
 * `cairn cluster …`: what an operator asks of a running cluster, at the port by which its nodes reach each other, or as
 * a client at the gRPC port.
 *
 * The exit codes are in cluster-drain.ts; the reason of one that is not 0 is on stderr.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Address, formatAddress, type NodeId, parseAddress } from '#base';
import type { AdminReply, AdminRequest, AskAdmin, ClusterDescription } from '#cluster';
import {
  type Asked,
  type ClientFiles,
  DRAIN_SECONDS_DEFAULT,
  type Environment,
  readArguments,
} from './cluster-arguments.ts';
import { checkDrain, drainAndStay, EXIT_NO_QUORUM, EXIT_REFUSED, EXIT_USAGE, undrain } from './cluster-drain.ts';
import {
  jsonOf,
  renderCluster,
  renderDone,
  renderDraining,
  renderFinalized,
  renderRecovered,
} from './cluster-report.ts';
import type { PeerTlsFiles } from './peer-tls.ts';
import { PEER_TLS_HELP } from './peer-tls-options.ts';
import { isRefusal } from './refusal.ts';

/** Longer than a node takes to ask others. */
const TIMEOUT_MS = 15_000;
const LOOK_MS = 1_000;
const NO_CATALOG =
  'Databases are recovered by the catalog, which takes most of the nodes that vote there: docs/operations/recovery.md';
/** A node that was just started may not know yet that another one leaves: whoever waits asks so often before. */
const KEPT_LOOKS = 5;
/** Whoever waits gives up after so many questions in a row that nobody has answered. */
const ASKED_IN_VAIN_MAX = 60;

const CLUSTER_HELP = `Usage: cairn cluster COMMAND [--at HOST:PORT | --address HOST:PORT --key-file FILE]

  status                            Shows nodes and databases. --json prints all that is known, as JSON.
  decommission NODE                 Takes a node out of the cluster: what it holds moves to others first, then it is
                                    removed for good. Refused when something would lose its quorum.
  replace NODE [--by NODE]          The same, once the node that is to take its place has joined and answers.
  recommission NODE                 Keeps a node that is leaving.
  drain NODE                        Has a node hand over what it leads, and end as on SIGTERM; it stays a member, and is
                                    started again by whoever runs it. Refused when something would have no quorum.
  drain [NODE] --stay [--timeout SECONDS] [--linger SECONDS]
                                    The process does not end: the node has no leaderships and is not ready until undrain,
                                    or until its process starts again. Ends when everything is handed over, after
                                    ${DRAIN_SECONDS_DEFAULT} s at most, and after the seconds of --linger at least: load balancers
                                    notice meanwhile. For preStop of Kubernetes, and before work on a machine.
  drain [NODE] --dry-run            Only says whether the node may drain, and what it would hand over.
  undrain [NODE]                    Puts a node that is drained and stays into service again.
  finalize                          Ends an upgrade: new things are written from now on that releases which do not know
                                    them cannot read. Refused when a node still runs such a release.
  recover DATABASE --from NODE [--accept-revision REVISION]
                                    Goes on, as another instance, with what one node holds of a database that has lost
                                    its quorum for good. What only the lost copies had is lost. Without the revision it
                                    only says what there is.

NODE is the number of a node, as status shows it; [NODE] is the node that is asked unless it is given. --at is the peer
address of any node of the cluster. Without it the node is asked that has the same environment (CAIRN_PEER_PORT,
CAIRN_ADVERTISE_HOST and so on), such as that of the same container; by default that is 127.0.0.1:50052. --wait waits until
a node that leaves is removed, or one that drains has ended. Every command may be repeated.

Exit codes: 0 done, 1 refused or no answer, 2 malformed command line, 3 a drain is refused because something would have no
quorum, 4 a drain has leaderships left when its time is over.

${PEER_TLS_HELP}
From elsewhere the command is a client that needs the role admin on all databases:
  --address HOST:PORT               The gRPC address of any node; https://HOST:PORT, or any --tls-… option: by TLS.
  --key-file FILE                   An API key, or a token of the provider; -: stdin has it.
  --tls-ca-file FILE                Authorities in PEM that the certificate of the node may be of, instead of those of Node.
  --tls-cert-file FILE              A client certificate in PEM, in place of a key or beside it.
  --tls-key-file FILE               Its private key.
`;

/** Where the output goes, and who is asked. */
export interface ClusterPorts {
  readonly ask: AskAdmin;
  /** The same by TLS. @throws DatabaseError when the files are not what they should be. */
  readonly askSecurely: (files: PeerTlsFiles) => AskAdmin;
  /** Asks at the gRPC port. @throws DatabaseError when a file cannot be read; and later, when it is not let in. */
  readonly askAsClient: (files: ClientFiles) => AskAdmin;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly environment: Environment;
  /** By default as long as it says. */
  readonly pause?: (ms: number) => Promise<void>;
  readonly monotonicMs?: () => number;
}

/** The exit code. */
export async function clusterCommand(args: readonly string[], ports: ClusterPorts): Promise<number> {
  const { out, err } = ports;
  if (args.includes('--help') || args[0] === 'help') {
    out(CLUSTER_HELP);
    return 0;
  }
  const asked = readArguments(args, ports.environment);
  if (asked.kind === 'failure') {
    for (const fault of asked.reason) err(`cairn cluster: ${fault}\n`);
    err('cairn cluster --help shows what there is.\n');
    return EXIT_USAGE;
  }
  const { client, tls } = asked.value;
  try {
    if (client !== undefined) {
      return await carryOut(asked.value, { ...ports, ask: ports.askAsClient(client), placeOf: grpcOf });
    }
    const ask = tls === undefined ? ports.ask : ports.askSecurely(tls);
    return await carryOut(asked.value, { ...ports, ask, placeOf: peerOf });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    err(`cairn cluster: ${error.message}\n`);
    return EXIT_REFUSED;
  }
}

interface Asking extends ClusterPorts {
  /** Where another node is asked in the same way; undefined: nowhere. */
  readonly placeOf: (node: DescribedNode) => Address | undefined;
}

type DescribedNode = ClusterDescription['nodes'][number];

function peerOf({ peer }: DescribedNode): Address | undefined {
  return peer.port === 0 ? undefined : peer;
}

function grpcOf({ grpc }: DescribedNode): Address | undefined {
  return parseAddress(grpc);
}

async function carryOut({ order, ...asked }: Asked, ports: Asking): Promise<number> {
  if (order.kind === 'undrain') return undrain({ ...asked, node: order.node }, ports);
  if (order.kind !== 'drain') return putOrder({ ...asked, order }, ports);
  const { node, stays, isDryRun } = order;
  if (isDryRun) return checkDrain({ ...asked, node }, ports);
  if (stays || node === undefined) return drainAndStay({ ...asked, node }, ports);
  const put = { ...asked, order: { ...order, node } };
  return asked.waits ? drainAndWait(put, ports) : putOrder(put, ports);
}

interface Put extends Omit<Asked, 'order'> {
  readonly order: AdminRequest['order'];
}

async function putOrder({ at, order, isJson, waits }: Put, ports: Asking): Promise<number> {
  const { ask, out, err } = ports;
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
    return order.kind === 'drain' && isPrecondition(reply) ? EXIT_NO_QUORUM : EXIT_REFUSED;
  }
  const render = order.kind === 'drain' ? renderDraining : renderDone;
  out(isJson ? `${JSON.stringify(reply.node, undefined, 2)}\n` : render(reply.node));
  if (!waits || reply.node.state !== 'leaving') return 0;
  return awaitRemoval(at, reply.node.node, ports);
}

function isPrecondition(reply: AdminReply): boolean {
  return reply.kind === 'faulty' && reply.code === 'failed_precondition';
}

/** The node goes on leaving when nobody waits any more. */
async function awaitRemoval(at: Address, node: NodeId, ports: Asking): Promise<number> {
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
async function drainAndWait(asked: Put, ports: Asking): Promise<number> {
  const { at, order } = asked;
  const reply = await ports.ask(at, { order: { kind: 'describe' }, isPassedOn: false }, TIMEOUT_MS);
  const places = reply.kind === 'described' ? placesBeside(at, reply.cluster, ports.placeOf) : [];
  const code = await putOrder({ ...asked, waits: false }, ports);
  return code === 0 && order.kind === 'drain' ? awaitEnd([at, ...places], order.node, ports) : code;
}

/** Asks the others whether the node is there; whoever runs it may have started it again in between. */
async function awaitEnd(known: readonly Address[], node: NodeId, ports: Asking): Promise<number> {
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
  { ask, placeOf, pause = sleep }: Asking,
): AsyncGenerator<ClusterDescription, void> {
  let places = known;
  for (let inVain = 0; inVain < ASKED_IN_VAIN_MAX; ) {
    await pause(LOOK_MS);
    const [place, ...others] = places;
    if (place === undefined) return;
    const reply = await ask(place, { order: { kind: 'describe' }, isPassedOn: false }, TIMEOUT_MS);
    if (reply.kind === 'described') {
      inVain = 0;
      places = [place, ...placesBeside(place, reply.cluster, placeOf)];
      yield reply.cluster;
    } else {
      inVain += 1;
      places = [...others, place];
    }
  }
}

function placesBeside(place: Address, { nodes }: ClusterDescription, placeOf: Asking['placeOf']): readonly Address[] {
  const there = nodes.filter(({ state }) => state !== 'removed').map(placeOf);
  return there.filter((each) => each !== undefined).filter((each) => formatAddress(each) !== formatAddress(place));
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
  return `no answer from ${formatAddress(at)} (${reason}); name the peer address of a running node by --at, or its gRPC address by --address, and ask again`;
}
