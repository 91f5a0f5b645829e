// Goal: totals of LevelDB since its start become counters, and its tables become gauges by level. Method: observations
// of levels that the test sets.
import { expect, test } from 'vitest';
import { createMetrics } from '#observability';
import { storeLevels } from '../../../../src/cluster/front/size-watch.ts';

test('each observation adds the difference to the previous one, and shows the present tables', async () => {
  const metrics = createMetrics({ runtime: false });
  let levels = [{ level: 1, tables: 3, seconds: 2, readBytes: 100, writtenBytes: 90 }];
  const look = storeLevels({ levels: () => levels }, metrics);
  const shown = async (): Promise<readonly string[]> => {
    look();
    const { body } = await metrics.render();
    return body.split('\n').filter((line) => /^cairn_store_\w+\{level="[12]"\}/.test(line));
  };
  expect(await shown()).toEqual([
    'cairn_store_compaction_seconds_total{level="1"} 2',
    'cairn_store_compaction_seconds_total{level="2"} 0',
    'cairn_store_compaction_read_bytes_total{level="1"} 100',
    'cairn_store_compaction_read_bytes_total{level="2"} 0',
    'cairn_store_compaction_written_bytes_total{level="1"} 90',
    'cairn_store_compaction_written_bytes_total{level="2"} 0',
    'cairn_store_tables{level="1"} 3',
    'cairn_store_tables{level="2"} 0',
  ]);

  levels = [{ level: 2, tables: 5, seconds: 0, readBytes: 0, writtenBytes: 7 }];
  await shown();
  levels = [{ level: 1, tables: 0, seconds: 3, readBytes: 150, writtenBytes: 95 }, ...levels];
  expect(await shown()).toEqual([
    'cairn_store_compaction_seconds_total{level="1"} 3',
    'cairn_store_compaction_seconds_total{level="2"} 0',
    'cairn_store_compaction_read_bytes_total{level="1"} 150',
    'cairn_store_compaction_read_bytes_total{level="2"} 0',
    'cairn_store_compaction_written_bytes_total{level="1"} 95',
    'cairn_store_compaction_written_bytes_total{level="2"} 7',
    'cairn_store_tables{level="1"} 0',
    'cairn_store_tables{level="2"} 5',
  ]);
});
