/**
 * `cairn recover`: founds a new cluster from the data directory of a stopped node when the catalog of its cluster has
 * lost its quorum for good. Without acceptance it only shows the content of the directory (ADR 0045).
 *
 * Exit code 0: done. 1: refused, or the data directory cannot be used; the reason is on stderr. 2: the command line is
 * malformed.
 */
import { type Address, formatAddress } from '#base';
import {
  acceptanceOf,
  faultInRefounding,
  nativeRandom,
  openStoppedNode,
  refound,
  type StoppedNode,
  type Survey,
  surveyOf,
  wallClock,
} from '#cluster';
import { EXIT_REFUSED, refused } from '../../process/refusals.ts';
import type { PeerTlsFiles } from '../../tls/peer-tls.ts';
import { type CommandPorts, jsonText, runCommandLine } from '../command-line.ts';
import { DATA_DIR_VARIABLE, type Values } from '../options.ts';
import { PEER_TLS_HELP, PEER_TLS_OPTIONS, readPeerTlsOptions } from '../peer-tls-options.ts';
import { renderRefounded, renderSurvey } from './recover-report.ts';

/** A node that does not answer within this time counts as gone. */
const CLUSTER_ANSWER_MS = 1_500;

const RECOVER_HELP = `Usage: cairn recover --data-dir DIRECTORY [--accept-loss CODE] [--json] [--peer-tls-cert-file FILE …]

Founds a new cluster from the data of one node, when most voters of the catalog are gone for good, with their disks. The
node must be stopped. Data that only the other nodes had is lost; never start them again with their old data.

Without --accept-loss the command changes nothing; it shows the data of the node, and the code. With --accept-loss the node
becomes the first node of a new cluster: start it as before, and start other nodes with empty data directories and --join.

  --data-dir DIRECTORY    Data directory of the node; also as the variable ${DATA_DIR_VARIABLE}.
  --accept-loss CODE      Accepts the loss that was shown with this code.
  --json                  Prints the result as JSON.

While the catalog has a quorum, use cairn cluster recover for a database that has lost its quorum. The command may be
repeated. See docs/operations/recovery.md.

${PEER_TLS_HELP}`;

/** Effects of the command; tests replace them. */
export interface RecoverPorts extends CommandPorts {
  /** Access to other nodes, by TLS if files are given. @throws DatabaseError when the files are invalid. */
  readonly asking: (files: PeerTlsFiles | undefined) => RecoverAsking;
}

export interface RecoverAsking {
  /** Returns the cluster of the node at an address; undefined without an answer in time. */
  readonly askForCluster: (address: Address, timeoutMs: number) => Promise<string | undefined>;
  /** Returns the reason when a node at the address refuses this client; undefined when none does. */
  readonly refusalAt: (address: Address) => Promise<string | undefined>;
}

const RECOVER = {
  name: 'recover',
  help: RECOVER_HELP,
  options: {
    'accept-loss': { type: 'string' },
    'data-dir': { type: 'string' },
    json: { type: 'boolean' },
    ...PEER_TLS_OPTIONS,
  },
  required: { 'data-dir': 'name the data directory of the stopped node' },
} as const;

type Given = Values<typeof RECOVER.options, keyof typeof RECOVER.required>;

/** Runs the command. @returns the exit code */
export function recoverCommand(args: readonly string[], ports: RecoverPorts): Promise<number> {
  return runCommandLine(RECOVER, args, ports, async (given) => {
    const tls = readPeerTlsOptions(given, ports.environment);
    if (tls.kind === 'failure') return [tls.reason];
    await using node = await openStoppedNode(given['data-dir']);
    return await carryOut(node, given, tls.value, ports);
  });
}

async function carryOut(
  node: StoppedNode,
  { 'data-dir': directory, 'accept-loss': acceptLoss, json: isJson = false }: Given,
  tls: PeerTlsFiles | undefined,
  { out, asking }: RecoverPorts,
): Promise<number> {
  const fault = faultInRefounding(node);
  if (fault?.isDone === true && acceptLoss !== undefined) {
    out(
      isJson
        ? jsonText({ identity: node.identity, bindings: node.catalog.list() })
        : `Done already: ${fault.reason}.\n`,
    );
    return 0;
  }
  if (fault !== undefined) throw refused(fault.reason);
  const survey = surveyOf(node);
  const inTheWay = await faultInOthers(survey, asking(tls));
  if (inTheWay !== undefined) throw refused(inTheWay);
  const code = acceptanceOf(survey);
  if (acceptLoss !== code) {
    const why =
      acceptLoss === undefined
        ? 'nothing was changed'
        : `nothing was changed: ${acceptLoss} is not the code of the current data`;
    const how = `${why}. To continue with the data of this node: cairn recover --data-dir ${directory} --accept-loss ${code}`;
    if (isJson) {
      out(jsonText({ ...survey, acceptLoss: code }));
      throw refused(how);
    }
    // Where the log of a container has both streams, their order is lost. The code must be its last line.
    out(`${renderSurvey(survey)}\ncairn recover: ${how}\n`);
    return EXIT_REFUSED;
  }
  const done = await refound(node, { nowMs: wallClock.nowMs(), random: nativeRandom });
  out(isJson ? jsonText(done) : renderRefounded(done, survey));
  return 0;
}

/** Returns a fault when so many voters answer that the catalog has a quorum, or can have one. */
async function faultInOthers(
  { clusterId, node: self, nodes }: Survey,
  { askForCluster, refusalAt }: RecoverAsking,
): Promise<string | undefined> {
  const voters = nodes.filter(({ isVoter }) => isVoter);
  const others = nodes.filter(({ node, state, peer }) => node !== self && state !== 'removed' && peer.port !== 0);
  const clusters = await Promise.all(others.map(({ peer }) => askForCluster(peer, CLUSTER_ANSWER_MS)));
  const there = others.filter((_, at) => clusters[at] === clusterId);
  const able = voters.filter((voter) => voter.node === self || there.includes(voter));
  if (2 * able.length <= voters.length) {
    const silent = others.filter(({ isVoter }, at) => isVoter && clusters[at] === undefined);
    return faultInRefusals(silent, { lacking: voters.length - 2 * able.length, refusalAt });
  }
  const each = there.map(({ node, peer }) => `node ${node} at ${formatAddress(peer)}`).join(', ');
  return `${each} answer${there.length > 1 ? '' : 's'}, so with this node the catalog has a quorum: start the node, there is nothing to recover`;
}

/** A node that refuses this client is running, and may be a voter: it does not count as lost. */
async function faultInRefusals(
  silent: Survey['nodes'],
  /** Number of voters lacking for a quorum, doubled. */
  { lacking, refusalAt }: { readonly lacking: number; readonly refusalAt: RecoverAsking['refusalAt'] },
): Promise<string | undefined> {
  const refusals = await Promise.all(silent.map(({ peer }) => refusalAt(peer)));
  const each = silent.flatMap(({ node, peer }, at) =>
    refusals[at] === undefined
      ? []
      : [`node ${node} at ${formatAddress(peer)} is running and refuses this command: ${refusals[at]}`],
  );
  return 2 * each.length > lacking ? each.join('; ') : undefined;
}
