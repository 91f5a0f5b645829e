/** Pages of a node and its cluster. */
import { counted, textIn } from './database-pages.ts';
import type { Description } from './description.ts';
import { CATALOG_PATH, CLUSTER_PATH, databasePath, HEALTH_PATH } from './paths.ts';

export function nodePage({ status, version }: { readonly status: string; readonly version: string }): Description {
  return {
    title: 'This node',
    summary: `This node runs release ${version}, and its status is ${status}.`,
    links: { cluster: CLUSTER_PATH, databases: CATALOG_PATH },
    actions: [],
  };
}

/** The nodes and databases of a cluster, as far as a node knows them. */
export interface ShownCluster {
  readonly nodes: readonly { readonly answers: boolean; readonly state: string }[];
  readonly databases: readonly { readonly isSettled: boolean; readonly leader: unknown }[];
  readonly catalogLeader: number | undefined;
  /** Whether a leader of the catalog answered. */
  readonly isConfirmed: boolean;
}

export function clusterPage({ nodes, databases, catalogLeader, isConfirmed }: ShownCluster): Description {
  const silent = nodes.filter(({ answers, state }) => !answers && state !== 'removed').length;
  const moving = databases.filter(({ isSettled }) => !isSettled).length;
  const unled = databases.filter(({ leader }) => leader === undefined).length;
  const lead = catalogLeader === undefined ? 'no node leads its catalog' : `node ${catalogLeader} leads its catalog`;
  const doubt = isConfirmed ? '' : ', which did not answer, so this may be out of date';
  return {
    title: 'Cluster',
    summary:
      `The cluster has ${counted(nodes.length, 'node')}, of which ${silent} do not answer, and ` +
      `${counted(databases.length, 'database')}, of which ${moving} are moving and ${unled} have no known leader; ${lead}${doubt}.`,
    links: { node: HEALTH_PATH, databases: CATALOG_PATH },
    actions: [],
    memberRows: {
      nodes: { linksOf: () => ({}), columns: ['node', 'name', 'state', 'answers', 'leads', 'copies'] },
      databases: {
        columns: ['name', 'leader', 'lag', 'state', 'nodes'],
        linksOf: (row) => {
          const databaseName = textIn(row, 'name');
          return { name: databaseName && databasePath({ databaseName, revision: 'latest' }) };
        },
      },
    },
  };
}
