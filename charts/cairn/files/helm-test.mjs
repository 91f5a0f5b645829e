// helm test: writes a transaction by the Service of clients and reads it back.
import { readFileSync } from 'node:fs';

const { BASE_URL, DATABASE, KEY_FILE } = process.env;
const id = crypto.randomUUID();
const key = KEY_FILE === undefined ? {} : { 'x-api-key': readFileSync(KEY_FILE, 'utf8').trim() };
const headers = { ...key, accept: 'application/json', 'content-type': 'application/json' };

async function ask(path, body) {
  const method = body === undefined ? 'GET' : 'POST';
  const answer = await fetch(`${BASE_URL}${path}`, { method, headers, body: JSON.stringify(body) });
  const text = await answer.text();
  process.stdout.write(`${method} ${path}: ${answer.status} ${text.slice(0, 500)}\n`);
  return { status: answer.status, text };
}

function expect(isRight, what) {
  if (!isRight) throw new Error(`failed: ${what}`);
}

const created = await ask('/api/v1/db', { database_name: DATABASE });
expect([200, 201, 409].includes(created.status), 'the database is created, or there already');
const event = { specversion: '1.0', id, source: '/helm-test', type: 'helm.tested', subject: 'chart' };
const written = await ask(`/api/v1/db/${DATABASE}`, { events: [event] });
expect(written.status === 200 || written.status === 201, 'the transaction is committed');
const read = await ask(`/databases/${DATABASE}/events/${JSON.parse(written.text).transaction.revision}`);
expect(read.status === 200 && read.text.includes(id), 'the event is read back');
process.stdout.write('a transaction was written and read back\n');
