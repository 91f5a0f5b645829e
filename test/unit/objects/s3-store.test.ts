// Goal: a bucket of S3 is an object store; what the service refuses is an error that names the object; a service that
// would let two nodes replace a manifest is refused. Method: the conformance tests of the port against a real server,
// and a server that answers the same to everything.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { contentOf, type ObjectStore } from '#archive';
import { S3Store } from '../../../src/objects/s3-store.ts';
import { newHash } from '../../support/archive/archived-history.ts';
import { objectStoreConformance } from '../../support/archive/object-store-conformance.ts';
import { startS3, useS3 } from '../../support/archive/s3-server.ts';
import { lacksTool } from '../../support/needed-tools.ts';

const BUCKET = 'archives';
let stores = 0;

function open(prefix = `store-${stores++}/`, bucket = BUCKET): ObjectStore {
  return new S3Store({ bucket, prefix, isPathStyle: true }, newHash);
}

describe.skipIf(lacksTool('moto'))('a bucket', () => {
  beforeAll(async () => useS3((await startS3(BUCKET)).url));

  objectStoreConformance(open);

  it('keeps the old object when a stream ends with an error, and accepts what has the announced hash only', async () => {
    const store = open();
    const large = contentOf(Buffer.alloc(3_000_000, 'a'));
    await store.put('segments/aa', large);
    const broken = {
      ...large,
      async *chunks() {
        yield* large.chunks();
        throw new Error('the source is broken');
      },
    };
    await expect(store.put('segments/aa', { ...broken, sha256: 'aa'.repeat(32) })).rejects.toThrow('is broken');
    expect(await store.size('segments/aa')).toBe(3_000_000);
  });

  it('names the bucket that does not exist', async () => {
    const store = open('', 'nowhere');
    await expect(store.list('')).rejects.toThrow('s3://nowhere/: NoSuchBucket');
    await expect(store.get('segments/aa')).rejects.toThrow('s3://nowhere/segments/aa: NoSuchBucket');
    await expect(store.put('segments/aa', contentOf(Buffer.from('x')))).rejects.toThrow('NoSuchBucket');
  });
});

describe('another service', () => {
  async function answering(status: number, bodyOf: (url: string) => string = () => ''): Promise<ObjectStore> {
    const server = createServer((request, response) => {
      request.resume().once('end', () => response.writeHead(status).end(bodyOf(request.url ?? '')));
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    useS3(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return open('x/');
  }

  it('is refused when it ignores conditions', async () => {
    const store = await answering(200);
    const create = store.create('manifests/1', contentOf(Buffer.from('x')));
    await expect(create).rejects.toThrow('s3://archives/x/manifests/1: the service ignores If-None-Match');
  });

  it('is asked for all pages of a list', async () => {
    const page = (name: string, token: string): string =>
      `<ListBucketResult>${token}<Contents><Key>x/${name}</Key></Contents></ListBucketResult>`;
    const next = '<IsTruncated>true</IsTruncated><NextContinuationToken>later</NextContinuationToken>';
    const store = await answering(200, (url) =>
      url.includes('continuation-token=later') ? page('b', '') : page('a', next),
    );
    expect(await store.list('')).toEqual(['a', 'b']);
  });

  it('is named with the object and the status when it fails', async () => {
    const store = await answering(503);
    const calls: readonly (() => Promise<unknown>)[] = [
      () => store.get('aa'),
      () => store.size('aa'),
      () => store.list('aa'),
      () => store.remove('aa'),
      () => store.put('aa', contentOf(Buffer.alloc(2_000_000))),
      () => store.create('aa', contentOf(Buffer.from('x'))),
    ];
    for (const call of calls) await expect(call()).rejects.toThrow(/^s3:\/\/archives\/x\/aa: .* \(HTTP 503\)$/);
  });

  it('creates nothing when another writer creates the object at the same time', async () => {
    const store = await answering(409);
    expect(await store.create('aa', contentOf(Buffer.from('x')))).toBe(false);
    await expect(store.put('aa', contentOf(Buffer.from('x')))).rejects.toThrow('s3://archives/x/aa: ');
  });
});
