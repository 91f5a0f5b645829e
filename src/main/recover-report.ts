/** What `cairn recover` prints. */
import { formatAddress, toHex } from '#base';
import { type LostDatabase, type Refounded, type Survey, type SurveyedDatabase, sentenceOnStoreLogs } from '#cluster';
import { table } from './table.ts';

/** All that there is to know before somebody accepts what is lost. */
export function renderSurvey(survey: Survey): string {
  const { node, clusterId, storeId, before, databases } = survey;
  const since =
    before === undefined ? [] : [`The cluster began with what this node held of the cluster ${before.clusterId}.`];
  return [
    `Node ${node} of the cluster ${clusterId}, store ${storeId}`,
    ...since,
    ...catalogLines(survey),
    '',
    ...table([['NODE', 'NAME', 'STATE', 'ZONE', 'CATALOG', 'PEER'], ...survey.nodes.map(nodeRow)]),
    '',
    databases.length === 0
      ? 'It holds no database.'
      : 'It holds these databases. Each goes on as another instance, with the same history; cursors and subscriptions end:',
    '',
    ...databases.flatMap(databaseLines),
    ...rowlessLines(survey),
    ...lostLines(survey),
    'What only other nodes had is lost for good: transactions that they acknowledged and this node has not, too. They must',
    'never be started again with the disks that they had.',
    '',
  ].join('\n');
}

export function renderRefounded({ identity, bindings }: Refounded, { lost }: Survey): string {
  return [
    `This node is node ${identity.node} of the cluster ${identity.clusterId} now, and alone in it.`,
    ...bindings.map(
      ({ name, databaseId, recovery }) =>
        `${name} means ${databaseId}, and goes on from revision ${recovery?.revision ?? 0}`,
    ),
    ...lost.map(({ name }) => `${name} is given up: its name is free`),
    'Start it as before: it makes its copies then. Start other nodes with empty data directories and --join.',
    '',
  ].join('\n');
}

function catalogLines({ catalog: { last, unapplied, deleted } }: Survey): readonly string[] {
  const ends = `Its log of the catalog ends with entry ${last.index} of term ${last.term}.`;
  if (unapplied === 0) return [ends];
  const [which, are, they, verb] =
    unapplied === 1
      ? ['The last one', 'is', 'it is', 'It deletes']
      : [`The last ${unapplied} entries`, 'are', 'they are', 'They delete'];
  const what = deleted.length === 0 ? '' : ` ${verb} ${deleted.join(', ')}.`;
  return [
    ends,
    `${which} ${are} not known to be committed, but may have been acknowledged: ${they} taken along.${what}`,
  ];
}

function nodeRow({ node, name, state, zone, isVoter, peer }: Survey['nodes'][number]): readonly string[] {
  const place = peer.port === 0 ? '-' : formatAddress(peer);
  return [String(node), name, state, zone, isVoter ? 'voter' : '-', place];
}

function databaseLines(database: SurveyedDatabase): readonly string[] {
  const { name, databaseId, revision, chainHash, recordedTimeMs, last, unapplied, others } = database;
  const holders =
    others.length === 0
      ? 'Nobody else held it'
      : `Also held by ${others.length > 1 ? 'nodes' : 'node'} ${others.join(', ')}`;
  return [
    `  ${name} (${databaseId})`,
    `    revision ${revision} of ${new Date(recordedTimeMs).toISOString()}, chain hash ${toHex(chainHash)}`,
    ...(unapplied === 0 ? [] : [`    ${behind(unapplied)}`]),
    `    Its log ends with entry ${last.index} of term ${last.term}. ${holders}.`,
    '',
  ];
}

function behind(count: number): string {
  const [stand, are] = count === 1 ? ['stands 1 entry', 'it is'] : [`stand ${count} entries`, 'they are'];
  return `Behind it ${stand}, which may have been acknowledged: ${are} taken along.`;
}

/** Databases of which its store has lost what its log says it had. */
function rowlessLines({ lost, storeLogs }: Survey): readonly string[] {
  const rowless = lost.filter(({ last }) => last !== undefined);
  if (rowless.length === 0) return [];
  const endOf = ({ last }: LostDatabase): string =>
    last === undefined ? '-' : `entry ${last.index} of term ${last.term}`;
  const logs = sentenceOnStoreLogs(storeLogs).trimStart();
  return [
    'Its log holds these databases, and its store has no row of them: the store has lost what was durable. Go on with another',
    'node or with a backup of this directory, if there is one; else they are lost, and their names are free again:',
    '',
    ...table([
      ['DATABASE', 'ON', 'DATABASE_ID', 'ITS LOG ENDS WITH'],
      ...rowless.map((each) => [each.name, each.nodes.join(' '), each.databaseId, endOf(each)]),
    ]),
    '',
    ...(logs === '' ? [] : [logs, '']),
  ];
}

function lostLines(survey: Survey): readonly string[] {
  const lost = survey.lost.filter(({ last }) => last === undefined);
  if (lost.length === 0) return [];
  return [
    'It holds nothing of these databases. They are lost with the nodes that held them, and their names are free again:',
    '',
    ...table([
      ['DATABASE', 'ON', 'DATABASE_ID'],
      ...lost.map(({ name, databaseId, nodes }) => [name, nodes.join(' '), databaseId]),
    ]),
    '',
  ];
}
