import { expect } from 'vitest';
import type { GroupId } from '#base';
import { RowKeys } from '#database';
import { BLOCK_BYTES } from '../../../src/storage/segments/segment-format.ts';
import type { LossyKv } from './lossy-kv.ts';
import type { WorldNode } from './replica-world.ts';

/** Changes a bit of the transaction with this text. */
export function damageHistory({ disk }: LossyKv, group: GroupId, text: string): void {
  const path = disk.files.find((each) => each.includes(group.toString(16).padStart(8, '0'))) ?? '';
  const bytes = disk.file(path);
  const at = Buffer.from(bytes).indexOf(text);
  expect(at).toBeGreaterThan(BLOCK_BYTES);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
}

/** Ends the node. Its next start finds a damaged history and no applied row, so it withdraws the database. */
export async function endWithDamage(hurt: WorldNode, group: GroupId, text: string): Promise<void> {
  await hurt.crash();
  damageHistory(hurt.kv, group, text);
  const batch = hurt.kv.batch();
  batch.del(new RowKeys(group).applied());
  await hurt.kv.write(batch);
  await hurt.kv.checkpointFiles();
}
