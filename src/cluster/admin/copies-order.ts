/** Changes the number of replicas that a database asks for. The planner of placements does the rest. */
import type { DatabaseId } from '#base';
import type { CatalogRequest, CatalogRequestsPorts, Passed } from '../catalog/catalog-requests.ts';
import type { Machines } from '../machine.ts';
import type { OrderFault } from './decommission.ts';

export interface CopiesOrder {
  readonly kind: 'set-copies';
  /** Name of the database. */
  readonly name: string;
  /** Undefined: the instance that the name is bound to. */
  readonly databaseId: DatabaseId | undefined;
  /** 0: the setting of the cluster. */
  readonly copies: number;
}

type CopiesSet =
  /** The catalog has the number. */
  { readonly kind: 'copies-set' } | ({ readonly kind: 'faulty' } & OrderFault);

export type CopiesAnswer = CopiesSet | Passed;

interface CopiesPorts extends Pick<CatalogRequestsPorts, 'catalog'> {
  readonly machines: Machines;
}

export function copiesRequest({ catalog, machines }: CopiesPorts, order: CopiesOrder): CatalogRequest<CopiesSet> {
  const { name, databaseId, copies } = order;
  return {
    answer: (isLatest) =>
      isLatest && catalog().lookup(name, databaseId)?.copies === copies ? { kind: 'copies-set' } : undefined,
    fault: () => {
      if (catalog().lookup(name, databaseId) !== undefined) return undefined;
      const which = databaseId === undefined ? name : `${name} with the id ${databaseId}`;
      return { kind: 'faulty', code: 'not_found', reason: `there is no database ${which}` };
    },
    waitsForLeader: true,
    encode: () => machines.encode({ kind: 'set-copies', name, databaseId, copies }),
  };
}
