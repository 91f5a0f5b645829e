/**
 * `cairn cluster …`: admin requests to a running cluster, at the peer port of a node, or as a client at its gRPC port.
 *
 * The exit codes are in cluster-drain.ts; on failure the reason is on stderr.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Address, formatAddress, type NodeId, parseAddress } from '#base';
import type { AdminReply, AdminRequest, AskAdmin, ClusterDescription } from '#cluster';
import { EXIT_REFUSED, refused } from '../../process/refusals.ts';
import type { PeerTlsFiles } from '../../tls/peer-tls.ts';
import { jsonText, runCommandLine } from '../command-line.ts';
import type { Environment } from '../options.ts';
import { PEER_TLS_HELP } from '../peer-tls-options.ts';
import { type Asked, type ClientFiles, DRAIN_SECONDS_DEFAULT, OPTIONS, readArguments } from './cluster-arguments.ts';
import { checkDrain, type DrainPorts, drainAndStay, EXIT_NO_QUORUM, ORDER_MS, undrain } from './cluster-drain.ts';
import { renderCluster, renderDone, renderDraining, renderFinalized, renderRecovered } from './cluster-report.ts';

const POLL_MS = 1_000;
const NO_CATALOG = 'Recovering a database needs a quorum of the catalog: docs/operations/recovery.md';
/** Number of consecutive answers before an active node counts as kept: a restarted node may not know that it leaves. */
const RECOMMISSIONED_POLLS = 5;
/** `--wait` gives up after this many consecutive requests without an answer. */
const UNANSWERED_MAX = 60;

const CLUSTER_HELP = `Usage: cairn cluster COMMAND [--at HOST:PORT | --address HOST:PORT --key-file FILE]

  status                            Shows nodes and databases. --json prints everything that is known.
  decommission NODE                 Removes a node from the cluster for good, after its replicas have moved to other nodes.
                                    Refused when the catalog or a database would lose its quorum.
  replace NODE [--by NODE]          Like decommission, but requires that a replacement has joined and answers.
  recommission NODE                 Keeps a node that is leaving.
  drain NODE                        Transfers the leaderships of a node and stops it like SIGTERM. It stays a member.
                                    Refused when the catalog or a database would have no quorum.
  drain [NODE] --stay [--timeout SECONDS] [--linger SECONDS]
                                    Keeps the process running: the node has no leaderships and is not ready until undrain or
                                    a restart. Returns when all leaderships are transferred, after ${DRAIN_SECONDS_DEFAULT} s at most, and
                                    after --linger at least, so that load balancers notice. For preStop hooks of Kubernetes
                                    and for work on a machine.
  drain [NODE] --dry-run            Only reports whether the node may drain, and how many leaderships would move.
  undrain [NODE]                    Puts a drained node back into service.
  finalize                          Finalizes an upgrade: new formats are used, which older releases cannot read. Refused
                                    while a node runs such a release.
  recover DATABASE --from NODE [--accept-revision REVISION]
                                    Continues a database that has lost its quorum for good from the replica of one node, as a
                                    new instance. Data that only the lost replicas had is lost. Without the revision it only
                                    shows what would be recovered.
  copies DATABASE NUMBER|default    Changes the number of replicas of a database, 1 to 7, to more or to fewer; default: the
                                    setting copies of the cluster. They move in the background, as status shows.

NODE is the number of a node in the output of status; [NODE] defaults to the node that the command connects to. --at is the
peer address of any node. Without --at the command uses the environment of a node (CAIRN_PEER_PORT, CAIRN_ADVERTISE_HOST
and so on), such as in its container; the default is 127.0.0.1:50052. --wait waits until a leaving node is removed, or a
draining node has stopped. Every command may be repeated.

Exit codes: 0 done, 1 refused or no answer, 2 malformed command line, 3 a drain is refused because there would be no quorum,
4 a drain has timed out with leaderships left.

${PEER_TLS_HELP}
From outside the cluster the command is a client that needs the role admin on all databases:
  --address HOST:PORT               The gRPC address of any node; https://HOST:PORT or any --tls-… option uses TLS.
  --key-file FILE                   An API key, or a token of the identity provider; - reads it from stdin.
  --tls-ca-file FILE                Certificate authorities to trust, in PEM, instead of those of Node.js.
  --tls-cert-file FILE              A client certificate in PEM, instead of a key or in addition to it.
  --tls-key-file FILE               Private key of the client certificate.
`;

/** Effects of the command; tests replace them. */
export interface ClusterPorts extends DrainPorts {
  /** Asks by TLS. @throws DatabaseError when the files are invalid. */
  readonly askSecurely: (files: PeerTlsFiles) => AskAdmin;
  /** Asks at the gRPC port. @throws DatabaseError when a file cannot be read; later also when access is denied. */
  readonly askAsClient: (files: ClientFiles) => AskAdmin;
  readonly environment: Environment;
}

/** Runs the command. @returns the exit code */
export function clusterCommand(args: readonly string[], ports: ClusterPorts): Promise<number> {
  const command = { name: 'cluster', help: CLUSTER_HELP, options: OPTIONS };
  return runCommandLine(command, args, ports, async (values, words) => {
    const read = readArguments(values, words, ports.environment);
    if (read.kind === 'failure') return read.reason;
    const { client, tls } = read.value;
    if (client !== undefined) {
      return carryOut(read.value, { ...ports, ask: ports.askAsClient(client), placeOf: grpcOf });
    }
    const ask = tls === undefined ? ports.ask : ports.askSecurely(tls);
    return carryOut(read.value, { ...ports, ask, placeOf: peerOf });
  });
}

interface Asking extends ClusterPorts {
  /** Address of another node for requests of the same kind, if it has one. */
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
  const reply = await ask(at, { order, isPassedOn: false }, ORDER_MS);
  const text = rendered(reply, isJson);
  if (text !== undefined) {
    out(text);
    return 0;
  }
  if (reply.kind !== 'done') {
    err(`cairn cluster: ${'reason' in reply ? reasonOf(reply, at, order) : 'the answer is malformed'}\n`);
    return order.kind === 'drain' && isPrecondition(reply) ? EXIT_NO_QUORUM : EXIT_REFUSED;
  }
  const render = order.kind === 'drain' ? renderDraining : renderDone;
  out(isJson ? jsonText(reply.node) : render(reply.node));
  if (!waits || reply.node.state !== 'leaving') return 0;
  return awaitRemoval(at, reply.node.node, ports);
}

/** Undefined: the reply is about a node, or is a refusal. */
function rendered(reply: AdminReply, isJson: boolean): string | undefined {
  if (reply.kind === 'described') return isJson ? jsonText(reply.cluster) : renderCluster(reply.cluster);
  if (reply.kind === 'finalized')
    return isJson ? `${JSON.stringify({ level: reply.level })}\n` : renderFinalized(reply.level);
  if (reply.kind === 'recovered') return isJson ? jsonText(reply.database) : renderRecovered(reply.database);
  if (reply.kind !== 'copies-set') return undefined;
  return isJson ? '{}\n' : 'the number is stored; replicas move in the background, as status shows\n';
}

function isPrecondition(reply: AdminReply): boolean {
  return reply.kind === 'faulty' && reply.code === 'failed_precondition';
}

/** Waits until the node is removed. Leaving does not depend on this wait. */
async function awaitRemoval(at: Address, node: NodeId, ports: Asking): Promise<number> {
  const { out, err } = ports;
  let reported = -1;
  let kept = 0;
  for await (const { nodes } of polled([at], ports)) {
    const found = nodes.find((each) => each.node === node);
    if (found?.state === 'removed') {
      out(renderDone(found));
      return 0;
    }
    kept = found?.state === 'active' ? kept + 1 : 0;
    if (kept === RECOMMISSIONED_POLLS) throw refused(`node ${node} no longer leaves; it was recommissioned`);
    if (found !== undefined && found.copies !== reported) err(`node ${node} still holds ${found.copies} databases\n`);
    reported = found?.copies ?? reported;
  }
  throw refused(`no node answers any more; node ${node} continues to leave, as status shows at a node that answers`);
}

/** The request may go to the draining node itself, so the addresses of the other nodes are read before. */
async function drainAndWait(asked: Put, ports: Asking): Promise<number> {
  const { at, order } = asked;
  const reply = await ports.ask(at, { order: { kind: 'describe' }, isPassedOn: false }, ORDER_MS);
  const places = reply.kind === 'described' ? placesBeside(at, reply.cluster, ports.placeOf) : [];
  const code = await putOrder({ ...asked, waits: false }, ports);
  return code === 0 && order.kind === 'drain' ? awaitEnd([at, ...places], order.node, ports) : code;
}

/** Polls the other nodes until the node has stopped. It may have been started again in between. */
async function awaitEnd(known: readonly Address[], node: NodeId, ports: Asking): Promise<number> {
  for await (const { nodes } of polled(known, ports)) {
    const found = nodes.find((each) => each.node === node);
    if (found?.answers === true && found.isDraining) continue;
    ports.out(found?.answers === true ? `node ${node} has ended, and is back\n` : `node ${node} has ended\n`);
    return 0;
  }
  throw refused(`no node answers any more, so it is unknown whether node ${node} has ended`);
}

/**
 * Polls the description of the cluster until no node answers any more. The polled node may leave or drain itself, so
 * the next one is polled when it does not answer.
 */
async function* polled(
  known: readonly Address[],
  { ask, placeOf, pause = sleep }: Asking,
): AsyncGenerator<ClusterDescription, void> {
  let places = known;
  for (let unanswered = 0; unanswered < UNANSWERED_MAX; ) {
    await pause(POLL_MS);
    const [place, ...others] = places;
    if (place === undefined) return;
    const reply = await ask(place, { order: { kind: 'describe' }, isPassedOn: false }, ORDER_MS);
    if (reply.kind === 'described') {
      unanswered = 0;
      places = [place, ...placesBeside(place, reply.cluster, placeOf)];
      yield reply.cluster;
    } else {
      unanswered += 1;
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
  if (order.kind === 'recover') return `${noAnswer(reply.reason, at)}. ${NO_CATALOG}`;
  return noAnswer(reply.reason, at);
}

function noAnswer(reason: string, at: Address): string {
  return `no answer from ${formatAddress(at)} (${reason}); repeat with the peer address of a running node in --at, or its gRPC address in --address`;
}
