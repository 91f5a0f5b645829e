/**
 * `cairn recover`: what an operator does with the data directory of a stopped node when the catalog of its cluster has
 * lost its quorum for good. Without acceptance it only shows what the directory holds (ADR 0045).
 *
 * Exit code 0: it is so. 1: it is refused, or the data directory cannot be used; the reason is on stderr. 2: the
 * command line is malformed.
 */
import { type Address, failure, formatAddress, ok, type Result, toHex } from '#base';
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
import { optionFaults } from './option-faults.ts';
import type { PeerTlsFiles } from './peer-tls.ts';
import { PEER_TLS_HELP, PEER_TLS_OPTIONS, readPeerTlsOptions } from './peer-tls-options.ts';
import { renderRefounded, renderSurvey } from './recover-report.ts';
import { isRefusal } from './refusal.ts';

// An import would also load the lazy parts of the module, such as its text comparison for tests.
const { parseArgs } = process.getBuiltinModule('node:util');

const EXIT_REFUSED = 1;
const EXIT_USAGE = 2;
/** Whoever does not answer by then is taken for gone. */
const ANSWER_MS = 1_500;
const VARIABLE = 'CAIRN_DATA_DIR';

const RECOVER_HELP = `Usage: cairn recover --data-dir DIRECTORY [--accept-loss CODE] [--json] [--peer-tls-cert-file FILE …]

Goes on with what one node holds when most of the nodes that vote for the catalog are gone for good, with their disks. The
node must be stopped. What only the others had is lost; they must never be started again with what they had.

Without --accept-loss it changes nothing, and says what the node holds, and the code. With it the node becomes the first of
another cluster: start it as before, and start other nodes with empty data directories and --join.

  --data-dir DIRECTORY    The data directory of the node; also as the variable ${VARIABLE}.
  --accept-loss CODE      That what it does not hold is lost, as it was shown.
  --json                  Prints what is known, or was done, as JSON.

While the catalog has a quorum, a database that has lost its own is recovered by cairn cluster recover. It may be repeated.
docs/operations/recovery.md says more.

${PEER_TLS_HELP}`;

/** Where the output goes, and who is asked. */
export interface RecoverPorts {
  /** Who may be there: by TLS, if files are given. @throws DatabaseError when they are not what they should be. */
  readonly asking: (files: PeerTlsFiles | undefined) => RecoverAsking;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface RecoverAsking {
  /** The cluster of the node at an address; undefined when there is no answer in time. */
  readonly askForCluster: (address: Address, timeoutMs: number) => Promise<string | undefined>;
  /** Why somebody who is there does not let this side ask; undefined: nobody is, or it is not for that. */
  readonly refusalAt: (address: Address) => Promise<string | undefined>;
}

interface Asked {
  readonly directory: string;
  readonly tls: PeerTlsFiles | undefined;
  readonly acceptLoss: string | undefined;
  readonly isJson: boolean;
}

/** The exit code. */
export async function recoverCommand(args: readonly string[], ports: RecoverPorts): Promise<number> {
  const { out, err, environment } = ports;
  if (args.includes('--help')) {
    out(RECOVER_HELP);
    return 0;
  }
  const asked = readArguments(args, environment);
  if (asked.kind === 'failure') {
    for (const fault of asked.reason) err(`cairn recover: ${fault}\n`);
    err('cairn recover --help shows what there is.\n');
    return EXIT_USAGE;
  }
  try {
    await using node = await openStoppedNode(asked.value.directory);
    return await carryOut(node, asked.value, ports);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    err(`cairn recover: ${error.message}\n`);
    return EXIT_REFUSED;
  }
}

async function carryOut(
  node: StoppedNode,
  { directory, tls, acceptLoss, isJson }: Asked,
  ports: RecoverPorts,
): Promise<number> {
  const { out, err } = ports;
  const refused = (reason: string): number => {
    err(`cairn recover: ${reason}\n`);
    return EXIT_REFUSED;
  };
  const fault = faultInRefounding(node);
  if (fault?.isDone === true && acceptLoss !== undefined) {
    out(isJson ? jsonOf({ identity: node.identity, bindings: node.catalog.list() }) : `It is done: ${fault.reason}.\n`);
    return 0;
  }
  if (fault !== undefined) return refused(fault.reason);
  const survey = surveyOf(node);
  const inTheWay = await faultInOthers(survey, ports.asking(tls));
  if (inTheWay !== undefined) return refused(inTheWay);
  const code = acceptanceOf(survey);
  if (acceptLoss !== code) {
    out(isJson ? jsonOf({ ...survey, acceptLoss: code }) : renderSurvey(survey));
    const why =
      acceptLoss === undefined
        ? 'nothing is changed yet'
        : `nothing is changed: ${acceptLoss} is not the code of what there is now`;
    return refused(
      `${why}. To go on with what this node holds: cairn recover --data-dir ${directory} --accept-loss ${code}`,
    );
  }
  const done = await refound(node, { nowMs: wallClock.nowMs(), random: nativeRandom });
  out(isJson ? jsonOf(done) : renderRefounded(done, survey));
  return 0;
}

/** Whether so many voters are there that the catalog has its quorum, or can have it. */
async function faultInOthers(
  { clusterId, node: self, nodes }: Survey,
  { askForCluster, refusalAt }: RecoverAsking,
): Promise<string | undefined> {
  const voters = nodes.filter(({ isVoter }) => isVoter);
  const others = nodes.filter(({ node, state, peer }) => node !== self && state !== 'removed' && peer.port !== 0);
  const clusters = await Promise.all(others.map(({ peer }) => askForCluster(peer, ANSWER_MS)));
  const there = others.filter((_, at) => clusters[at] === clusterId);
  const able = voters.filter((voter) => voter.node === self || there.includes(voter));
  if (2 * able.length <= voters.length) {
    const silent = others.filter(({ isVoter }, at) => isVoter && clusters[at] === undefined);
    return faultInRefusals(silent, { lacking: voters.length - 2 * able.length, refusalAt });
  }
  const each = there.map(({ node, peer }) => `node ${node} at ${formatAddress(peer)}`).join(', ');
  return `${each} answer${there.length > 1 ? '' : 's'}, so that with this node most of those are there that vote for the catalog: start it, there is nothing to recover`;
}

/** Whoever refuses to be asked is there, and may be one of those that vote: that is not to be taken for a loss. */
async function faultInRefusals(
  silent: Survey['nodes'],
  /** Twice as many as that would be half of those that vote. */
  { lacking, refusalAt }: { readonly lacking: number; readonly refusalAt: RecoverAsking['refusalAt'] },
): Promise<string | undefined> {
  const said = await Promise.all(silent.map(({ peer }) => refusalAt(peer)));
  const each = silent.flatMap(({ node, peer }, at) =>
    said[at] === undefined
      ? []
      : [`node ${node} at ${formatAddress(peer)} is there and is not to be asked so: ${said[at]}`],
  );
  return 2 * each.length > lacking ? each.join('; ') : undefined;
}

function readArguments(
  args: readonly string[],
  environment: RecoverPorts['environment'],
): Result<Asked, readonly string[]> {
  const options = {
    'accept-loss': { type: 'string' },
    'data-dir': { type: 'string' },
    json: { type: 'boolean' },
    ...PEER_TLS_OPTIONS,
  } as const;
  const malformed = optionFaults(args, options);
  if (malformed.length > 0) return failure(malformed);
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  if (positionals.length > 0) return failure([`${JSON.stringify(positionals.join(' '))} is one word too many`]);
  const { 'data-dir': directory = environment[VARIABLE], 'accept-loss': acceptLoss, json: isJson = false } = values;
  if (directory === undefined || directory === '')
    return failure(['--data-dir is missing; name the data directory of the stopped node']);
  const tls = readPeerTlsOptions(values);
  if (tls.kind === 'failure') return failure([tls.reason]);
  return ok({ directory, tls: tls.value, acceptLoss, isJson });
}

function jsonOf(value: object): string {
  const bytesAsHex = (_key: string, each: unknown): unknown => (each instanceof Uint8Array ? toHex(each) : each);
  return `${JSON.stringify(value, bytesAsHex, 2)}\n`;
}
