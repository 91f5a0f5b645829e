// DuckDB of PyPI: a reader of Parquet that others have written.
import { execFile } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const DUCKDB_VERSION = '2.0.1';
/** Where .ci/run installs it. Another installation serves, too. */
const { XDG_CACHE_HOME: cache = join(homedir(), '.cache') } = process.env;
export const DUCKDB: string = join(cache, 'cairn', `duckdb-${DUCKDB_VERSION}`);

const PROGRAM = `
import json, sys, duckdb
rows = duckdb.execute(sys.argv[1], sys.argv[2:]).fetchall()
print(json.dumps(rows, default=str))
`;

/** Rows of the result. Values that JSON has not are texts. */
export async function queryDuckDb(query: string, ...parameters: readonly string[]): Promise<unknown> {
  const env = { ...process.env, PYTHONPATH: DUCKDB };
  const { stdout } = await promisify(execFile)('python3', ['-c', PROGRAM, query, ...parameters], { env });
  return JSON.parse(stdout);
}
