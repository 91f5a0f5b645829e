/** Renders the output of `cairn recover`. */
import { formatAddress, toHex } from '#base';
import type { Refounded, Survey, SurveyedDatabase } from '#cluster';
import { table } from '../command-line.ts';

/** Renders everything that the operator needs to know before accepting the loss. */
export function renderSurvey(survey: Survey): string {
  const { node, clusterId, storeId, before, databases } = survey;
  const since =
    before === undefined
      ? []
      : [`The cluster was founded from the data of this node in the cluster ${before.clusterId}.`];
  return [
    `Node ${node} of the cluster ${clusterId}, store ${storeId}`,
    ...since,
    ...catalogLines(survey),
    '',
    ...table([['NODE', 'NAME', 'STATE', 'ZONE', 'CATALOG', 'PEER'], ...survey.nodes.map(nodeRow)]),
    '',
    databases.length === 0
      ? 'It has no database.'
      : 'It has these databases. Each continues as a new instance with the same history; cursors and subscriptions end:',
    '',
    ...databases.flatMap(databaseLines),
    ...lostLines(survey),
    'Data that only other nodes had is lost for good, including acknowledged transactions. Never start these nodes again with',
    'their old disks.',
    '',
  ].join('\n');
}

export function renderRefounded({ identity, bindings }: Refounded, { lost }: Survey): string {
  return [
    `This node is now node ${identity.node} of the cluster ${identity.clusterId}, and the only one.`,
    ...bindings.map(
      ({ name, databaseId, recovery }) =>
        `${name} now means ${databaseId}, which continues from revision ${recovery?.revision ?? 0}`,
    ),
    ...lost.map(({ name }) => `${name} is lost: its name is free`),
    'Start it as before: it then builds the new instances. Start other nodes with empty data directories and --join.',
    '',
  ].join('\n');
}

function catalogLines({ catalog: { last, unapplied, deleted } }: Survey): readonly string[] {
  const ends = `The log of the catalog ends with entry ${last.index} of term ${last.term}.`;
  if (unapplied === 0) return [ends];
  const [which, are, they, verb] =
    unapplied === 1
      ? ['The last entry', 'is', 'it is', 'It deletes']
      : [`The last ${unapplied} entries`, 'are', 'they are', 'They delete'];
  const what = deleted.length === 0 ? '' : ` ${verb} ${deleted.join(', ')}.`;
  return [ends, `${which} ${are} not known to be committed, but may have been acknowledged: ${they} kept.${what}`];
}

function nodeRow({ node, name, state, zone, isVoter, peer }: Survey['nodes'][number]): readonly string[] {
  const place = peer.port === 0 ? '-' : formatAddress(peer);
  return [String(node), name, state, zone, isVoter ? 'voter' : '-', place];
}

function databaseLines(database: SurveyedDatabase): readonly string[] {
  const { name, databaseId, revision, chainHash, recordedTimeMs, last, unapplied, others } = database;
  const holders =
    others.length === 0
      ? 'No other node had it'
      : `Also on ${others.length > 1 ? 'nodes' : 'node'} ${others.join(', ')}`;
  return [
    `  ${name} (${databaseId})`,
    `    revision ${revision} of ${new Date(recordedTimeMs).toISOString()}, chain hash ${toHex(chainHash)}`,
    ...(unapplied === 0 ? [] : [`    ${behind(unapplied)}`]),
    `    Its log ends with entry ${last.index} of term ${last.term}. ${holders}.`,
    '',
  ];
}

function behind(count: number): string {
  const [more, are] = count === 1 ? ['1 more entry', 'it is'] : [`${count} more entries`, 'they are'];
  return `Its log has ${more}, which may have been acknowledged: ${are} kept.`;
}

function lostLines({ lost }: Survey): readonly string[] {
  if (lost.length === 0) return [];
  return [
    'It has no data of these databases. They are lost with the nodes that had them, and their names are free again:',
    '',
    ...table([
      ['DATABASE', 'ON', 'DATABASE_ID'],
      ...lost.map(({ name, databaseId, nodes }) => [name, nodes.join(' '), databaseId]),
    ]),
    '',
  ];
}
