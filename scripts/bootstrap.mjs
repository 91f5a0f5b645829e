/**
 * Entry point from a fresh clone: installs missing packages, then continues under Node 24.
 *
 *   node scripts/bootstrap.mjs run <file> [argument...]   runs a script of ours, or of a package
 *   node scripts/bootstrap.mjs build                      checks the types of the sources, and bundles them into dist
 *   node scripts/bootstrap.mjs start [argument...]        builds when dist is stale, then runs the server
 *
 * npm prints two lines with the script before this begins; only `--silent` removes them. A `.npmrc` with
 * `loglevel=silent` would also hide every error of npm, such as that of a mistyped script.
 *
 * Plain JavaScript without packages, because it runs before anything is installed, on any Node from 20 on. It writes
 * to stderr only: stdout belongs to the program it starts.
 *
 * Invariants:
 *   H1  The program runs under the Node of node_modules, whatever Node the machine has.
 *   H2  Nothing is installed or built when node_modules matches package-lock.json and dist matches src; every file of
 *       dist must be as it was written.
 *   H3  The started program receives the signals of this process, and its exit code becomes this one's. Where Node can
 *       (22.15 and later), the program replaces this process.
 *   H4  dist is replaced as a whole: no start ever sees half a build.
 *   H5  One process at a time installs, and others wait for it: two would delete each other's files.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = resolve(fileURLToPath(import.meta.url), '../..');
const node = join(root, 'node_modules/node/bin/node');
const dist = join(root, 'dist');
const stampName = '.built-from';
const installing = join(root, '.installing');
const installMsMax = 15 * 60_000;
const pollMs = 200;
const forwardedSignals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'];

const [command, ...args] = process.argv.slice(2);
if (command === 'run' && args.length > 0) {
  await installWhenNeeded();
  await become(args);
} else if (command === 'build') {
  await installWhenNeeded();
  build(sourceFingerprint());
} else if (command === 'start') {
  await installWhenNeeded();
  buildWhenStale();
  // A single node founds its cluster. One with a peer port or seeds may be a member that lost its disk.
  if (isSingleNode()) process.env.CAIRN_BOOTSTRAP ??= 'alone';
  await become([join(dist, 'main.js'), ...args]);
} else {
  fail('Usage: node scripts/bootstrap.mjs run <file> [argument...] | build | start [argument...]');
}

function isSingleNode() {
  const { CAIRN_PEER_PORT, CAIRN_JOIN } = process.env;
  const isOfCluster = args.some((arg) => /^--(?:peer-port|join)(?:=|$)/.test(arg));
  return !isOfCluster && CAIRN_PEER_PORT === undefined && CAIRN_JOIN === undefined;
}

async function installWhenNeeded() {
  if (isInstalled()) return;
  await takeTurn();
  if (!isInstalled()) await install();
  rmSync(installing, { force: true });
}

async function install() {
  say('Installing the packages of package-lock.json ...');
  const { npm_execpath: npm, npm_node_execpath: npmNode } = process.env;
  const [program, ...first] = npm === undefined ? ['npm'] : [npmNode ?? process.execPath, npm];
  // stdin is closed so that nothing can ask a question; the tools are needed even where NODE_ENV says production.
  const child = spawn(program, [...first, 'ci', '--include=dev', '--no-audit', '--no-fund'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    // npm would print pages of warnings about packages that need a later Node than the machine's, which runs none.
    // A level that the user has set for npm takes precedence.
    env: { npm_config_loglevel: 'error', ...process.env, PATH: pathWithoutOwnTools() },
  });
  // npm continues when this process is killed, and others must still wait for it.
  if (child.pid !== undefined) writeFileSync(installing, `${process.pid} ${child.pid}`);
  const { error, code, signal } = await ended(child);
  if (error) fail(`npm ci could not be started: ${error.message}`);
  if (code !== 0) fail(`npm ci failed with ${signal ?? `exit code ${code}`}; its messages are above.`);
  if (!existsSync(node)) {
    fail(
      `npm ci did not bring Node 24 (${node} is missing). It comes by an install script of the package "node": allow install scripts for the packages named under allowScripts in package.json.`,
    );
  }
}

async function takeTurn() {
  for (let waits = 0; !(await hasTurn()); waits += 1) {
    if (waits === 0) say('Waiting for another process that installs the packages ...');
    await sleep(pollMs);
  }
  process.on('exit', () => rmSync(installing, { force: true }));
}

// The installing process holds a file with its process ids.
async function hasTurn() {
  if (isLeftBehind()) rmSync(installing, { force: true });
  try {
    writeFileSync(installing, `${process.pid}`, { flag: 'wx' });
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
  // Another process may have found the same stale file, and removed this one in its place.
  await sleep(pollMs);
  return holders() === `${process.pid}`;
}

function isLeftBehind() {
  const { mtimeMs } = statSync(installing, { throwIfNoEntry: false }) ?? {};
  if (mtimeMs === undefined) return false;
  // After that time the ids may belong to other processes.
  return Date.now() - mtimeMs > installMsMax || holders()?.split(' ').some(isAlive) === false;
}

function holders() {
  try {
    return readFileSync(installing, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function isAlive(pid) {
  try {
    return process.kill(Number(pid), 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

// npm writes a copy of the lock file of the installed packages last: it differs while an install is incomplete.
// Packages for other platforms are in only one of the two.
function isInstalled() {
  // A linked node_modules belongs to another working copy, which maintains it.
  if (lstatSync(join(root, 'node_modules'), { throwIfNoEntry: false })?.isSymbolicLink()) return true;
  const copy = join(root, 'node_modules/.package-lock.json');
  if (!existsSync(copy) || !existsSync(node)) return false;
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const found = JSON.parse(readFileSync(copy, 'utf8')).packages;
  const same = (path) =>
    wanted[path]?.version === found[path]?.version && wanted[path]?.integrity === found[path]?.integrity;
  const mayBeMissing = (path) => path === '' || wanted[path].optional === true || wanted[path].devOptional === true;
  return (
    Object.keys(found).every(same) &&
    Object.keys(wanted).every((path) => (path in found ? same(path) : mayBeMissing(path)))
  );
}

function buildWhenStale() {
  const fingerprint = sourceFingerprint();
  if (!isBuiltFrom(fingerprint)) build(fingerprint);
}

// The stamp holds the fingerprint, then a line for each file of dist: size and name.
function isBuiltFrom(fingerprint) {
  const stamp = join(dist, stampName);
  if (!existsSync(stamp)) return false;
  const [builtFrom, ...files] = readFileSync(stamp, 'utf8').split('\n');
  if (builtFrom !== fingerprint) return false;
  return files.every((line) => line === fileLine(dist, line.slice(line.indexOf(' ') + 1)));
}

function filesIn(folder) {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => statSync(join(folder, name)).isFile());
}

function fileLine(folder, name) {
  return `${statSync(join(folder, name), { throwIfNoEntry: false })?.size} ${name}`;
}

// Names, sizes and times instead of contents: a few milliseconds, also for hundreds of files.
function sourceFingerprint() {
  /** @type {string[]} */
  const sources = ['src', 'operator/src', 'proto'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  );
  const hash = createHash('sha256');
  for (const path of [
    ...sources.toSorted(),
    'scripts/bundle.ts',
    'tsconfig.json',
    'tsconfig.build.json',
    'package.json',
    'package-lock.json',
  ]) {
    const { size, mtimeMs } = statSync(join(root, path));
    hash.update(`${path} ${size} ${mtimeMs}\n`);
  }
  return hash.digest('hex');
}

function build(fingerprint) {
  say('Building dist from src ...');
  const fresh = join(root, `dist-${process.pid}`);
  runTool([join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'], fresh);
  runTool([join(root, 'scripts/bundle.ts'), fresh], fresh);
  const files = filesIn(fresh).toSorted();
  writeFileSync(join(fresh, stampName), [fingerprint, ...files.map((name) => fileLine(fresh, name))].join('\n'));
  replaceDist(fresh, fingerprint);
}

function runTool(nodeArgs, fresh) {
  if (spawnSync(node, nodeArgs, { cwd: root, stdio: ['ignore', 2, 2] }).status === 0) return;
  rmSync(fresh, { recursive: true, force: true });
  fail('dist cannot be built from src; the messages are above.');
}

// Another start may do the same; the second one finds a fresh dist and drops its own.
function replaceDist(fresh, fingerprint) {
  const old = join(root, `dist-old-${process.pid}`);
  try {
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(fresh, dist);
  } catch (error) {
    if (!isBuiltFrom(fingerprint)) throw error;
    rmSync(fresh, { recursive: true, force: true });
  }
  rmSync(old, { recursive: true, force: true });
}

async function become(nodeArgs) {
  const env = { ...process.env, PATH: [join(root, 'node_modules/.bin'), pathWithoutOwnTools()].join(delimiter) };
  if (typeof process.execve === 'function') process.execve(node, [node, ...nodeArgs], env);

  const { error, code, signal } = await ended(spawn(node, nodeArgs, { stdio: 'inherit', env }));
  if (error) fail(`${node} could not be started: ${error.message}`);
  process.exit(code ?? 128 + constants.signals[signal]);
}

// Forwards the signals of this process to the child, and resolves with its end.
function ended(child) {
  for (const signal of forwardedSignals) {
    process.on(signal, () => {
      // A terminal has sent Ctrl-C to the child as well; a second one would mean "at once".
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  return new Promise((done) => {
    child.on('error', (error) => done({ error }));
    child.on('exit', (code, signal) => done({ code, signal }));
  });
}

function pathWithoutOwnTools() {
  const tools = join(root, 'node_modules');
  return (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !resolve(folder).startsWith(tools))
    .join(delimiter);
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

function fail(text) {
  say(text);
  process.exit(1);
}
