/** The setting that says what databases may take of the disk. */
import type { DatabaseQuota } from '#cluster';
import { isDatabaseName } from '#model';
import { byteSize, formatBytes, type SettingType } from './setting.ts';

const QUOTAS_MAX = 1_000;
const OTHERS = '*';
const size = byteSize({ min: 2 ** 20, max: 1024 * 2 ** 30 });

/** A size for all databases, and sizes of some by name, separated by commas; or the word `off`. */
export const databaseQuotas: SettingType<readonly DatabaseQuota[]> = {
  expects: 'off, or sizes from 1MiB to 1024GiB such as 10GiB or *=10GiB,shop=100GiB',
  read: (text) => {
    if (text === 'off') return [];
    const quotas = text.split(',').map((each) => quotaOf(each.trim()));
    const known = quotas.filter((each) => each !== undefined);
    const isSound = known.length === quotas.length && known.length <= QUOTAS_MAX;
    return isSound && new Set(known.map(({ name }) => name)).size === known.length ? known : undefined;
  },
  write: (quotas) =>
    quotas.length === 0 ? 'off' : quotas.map(({ name = OTHERS, bytes }) => `${name}=${formatBytes(bytes)}`).join(','),
};

function quotaOf(text: string): DatabaseQuota | undefined {
  const [first = '', second] = text.split(/=(.*)/s);
  const [name, bytes] = second === undefined ? [OTHERS, size.read(first)] : [first, size.read(second)];
  if (bytes === undefined || (name !== OTHERS && !isDatabaseName(name))) return undefined;
  return { name: name === OTHERS ? undefined : name, bytes };
}
