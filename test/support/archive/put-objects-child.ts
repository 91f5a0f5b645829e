// Puts an object into a directory, and creates another one, under strace (test/unit/objects/directory-store.test.ts).
import { contentOf } from '#archive';
import { DirectoryStore } from '#objects';

const store = new DirectoryStore(process.argv[2] ?? '');
await store.put('segments/aa', contentOf(Buffer.from('first')));
await store.create('segments/bb', contentOf(Buffer.from('second')));
