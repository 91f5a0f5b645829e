// Goal: clients in Python, Go and Java can be generated from the proto files without changes. Method: the text of each
// file.
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const PROTO = resolve(import.meta.dirname, '../../../proto');
/** Packages of Python's standard library, and packages that each gRPC client in Python has. */
const TAKEN_IN_PYTHON = ['io', 'grpc', 'google', 'cloudevents'];

it.each(globSync('**/*.proto', { cwd: PROTO }))('%s names its packages for Go and Java', (file) => {
  const text = readFileSync(join(PROTO, file), 'utf8');
  expect(text).toMatch(/^option go_package = "[^"]+";$/m);
  expect(text).toMatch(/^option java_package = "[^"]+";$/m);
  expect(text).toContain('option java_multiple_files = true;');
});

it('imports of generated clients use no package name that is taken in Python', () => {
  const files = globSync('cairn/{v1,cloudevents/v1}/*.proto', { cwd: PROTO });
  const folders = files.flatMap((file) =>
    [...readFileSync(join(PROTO, file), 'utf8').matchAll(/^import "(?!google\/protobuf\/)([^/]+)\//gm)].map(
      ([, folder]) => folder,
    ),
  );
  expect(folders).toContain('cairn');
  expect(folders.filter((folder) => TAKEN_IN_PYTHON.includes(folder ?? ''))).toEqual([]);
});
