// Pages of events and transactions link to causes, effects and transactions with the same correlation id.
import { describe, expect, it } from 'vitest';
import { cloudEvent, jsonOf } from '../support/http-client.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';
import { readToonPage } from '../support/toon-pages.ts';

const { api } = await sharedHttpNode();
const TEXT = { accept: 'text/plain' };

const idOf = (revision: number): string => `0193a1b2-c3d4-7e5f-8a9b-${String(revision).padStart(12, '0')}`;

interface Said {
  readonly causation_id?: string;
  readonly correlation_id?: string;
}

async function databaseOf(all: readonly Said[]): Promise<string> {
  const name = await api.created();
  for (const [at, said] of all.entries()) {
    const transaction = { ...said, transaction_id: idOf(at + 1), events: [cloudEvent(`${at}`)] };
    const { status } = await api.post(`/api/v1/db/${name}`, transaction);
    expect(status).toBe(200);
  }
  return name;
}

async function relatedOf(path: string): Promise<readonly (readonly [string, string])[]> {
  return Object.entries(await linksOf(path)).filter(([each]) => /^(?:caused|correlated)_\d/.test(each));
}

async function linksOf(path: string): Promise<Readonly<Record<string, string>>> {
  const answer = await api.get(path, TEXT);
  expect(answer.status).toBe(200);
  return readToonPage(answer.text).links;
}

describe('SPEC-HTTP-CAUSES', () => {
  it('leads from an event to its transaction, and back along its causes', async () => {
    const name = await databaseOf([{}, { causation_id: idOf(1) }, {}, { causation_id: idOf(2).toUpperCase() }]);
    const path = (revision: number): string => `GET /api/v1/db/${name}/transaction/${idOf(revision)}`;
    const chain = { transaction: path(4), caused_by: path(2), caused_by_2_back: path(1) };
    expect(await linksOf(`/db/${name}/4/events/4?index=0`)).toMatchObject(chain);
    expect(await linksOf(`/db/${name}/4/events/1?index=0`)).not.toHaveProperty('caused_by');
    const { text } = await api.get(`/db/${name}/4/events/4`, { accept: 'text/html' });
    expect(text).toContain(`<a href="/api/v1/db/${name}/transaction/${idOf(2)}">caused by</a>`);
  });

  it('leads from an event to what came of it, and to others of its correlation id, as of the revision', async () => {
    const name = await databaseOf([
      { correlation_id: 'c' },
      { correlation_id: 'c' },
      { correlation_id: 'c', causation_id: idOf(2) },
      { causation_id: idOf(3).toUpperCase() },
      { correlation_id: 'c' },
      { causation_id: idOf(3) },
    ]);
    const path = (revision: number): string => `GET /api/v1/db/${name}/transaction/${idOf(revision)}`;
    const before = ['correlated_1', path(1)];
    const behind = [
      ['caused_4', path(4)],
      ['correlated_5', path(5)],
      ['caused_6', path(6)],
    ];
    expect(await relatedOf(`/db/${name}/6/events/3`)).toEqual([before, ...behind]);
    expect(await relatedOf(`/db/${name}/5/events/3`)).toEqual([before, ...behind.slice(0, 2)]);
    expect(await relatedOf(`/db/${name}/3/events/3`)).toEqual([before]);
    const three = [1, 2, 3].map((each) => [`correlated_${each}`, path(each)]);
    expect(await relatedOf(`/db/${name}/6/events/5`)).toEqual(three);
    const { id } = jsonOf(await api.get(`/db/${name}/3/events/3`)) as { readonly id: string };
    expect(await relatedOf(`/db/${name}/6/events/orders/${id}`)).toEqual([before, ...behind]);
    expect(await relatedOf(`/databases/${name}/events/3`)).toEqual([before, ...behind]);
    expect(await relatedOf(`/api/v1/db/${name}/transaction/${idOf(3)}`)).toEqual([before, ...behind]);
    const page = readToonPage((await api.get(`/api/v1/db/${name}/transaction/${idOf(3)}`, TEXT)).text);
    expect(page.summary).toContain('with the correlation id "c"');
    const html = (await api.get(`/db/${name}/6/events/3`, { accept: 'text/html' })).text;
    expect(html).toContain(`<a href="/api/v1/db/${name}/transaction/${idOf(4)}">caused 4</a>`);
    expect(jsonOf(await api.get(`/db/${name}/6/events/3`))).toEqual(jsonOf(await api.get(`/db/${name}/3/events/3`)));
  });

  it.each<[string, readonly Said[]]>([
    ['what is no transaction of the database', [{ causation_id: idOf(9) }]],
    ['what is no id', [{ causation_id: 'an event' }]],
    ['itself', [{ causation_id: idOf(1) }]],
    ['what was committed later', [{ causation_id: idOf(2) }, {}]],
  ])('leads to no cause that is %s', async (_what, all) => {
    const name = await databaseOf(all);
    expect(await linksOf(`/db/${name}/1/events/1?index=0`)).not.toHaveProperty('caused_by');
    expect(await linksOf(`/api/v1/db/${name}/transaction/${idOf(1)}`)).not.toHaveProperty('caused_by');
  });

  it('ends behind eight causes, and tells of sixteen effects', async () => {
    const chain = Array.from({ length: 10 }, (_, at) => (at === 0 ? {} : { causation_id: idOf(at) }));
    const name = await databaseOf([...chain, ...Array.from({ length: 18 }, () => ({ causation_id: idOf(10) }))]);
    const back = Object.keys(await linksOf(`/db/${name}/10/events/10`)).filter((each) => each.startsWith('caused_by'));
    expect(back).toHaveLength(8);
    expect(await relatedOf(`/api/v1/db/${name}/transaction/${idOf(10)}`)).toHaveLength(16);
    expect(await relatedOf(`/db/${name}/28/events/10`)).toHaveLength(16);
  });
});
