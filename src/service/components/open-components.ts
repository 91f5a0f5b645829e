import { DatabaseError } from '#base';
import type { ServiceContext } from '../context.ts';
import type { Components } from './components.ts';

/** @throws DatabaseError unimplemented: this node runs no components */
export async function openComponents({ components }: ServiceContext): Promise<Components> {
  if (components !== undefined) return components();
  throw new DatabaseError('unimplemented', 'This node runs no components');
}
