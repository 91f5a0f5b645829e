/**
 * The way in from a fresh clone: installs what is missing, then goes on under Node 24.
 *
 *   node scripts/bootstrap.mjs run <file> [argument...]   runs a script of ours, or of a package
 *   node scripts/bootstrap.mjs build                      checks the types of the sources, and bundles them into dist
 *   node scripts/bootstrap.mjs start [argument...]        builds when dist is stale, then runs the server
 *
 * What npm prints before this begins, two lines that repeat the script, only `--silent` takes away. A `.npmrc` with
 * `loglevel=silent` would do so for everybody, and take every error of npm with them, that of a mistyped script, too.
 *
 * Plain JavaScript without packages, because it runs before anything is installed, on any Node from 20 on. It writes
 * to stderr only: stdout belongs to the program it starts.
 *
 * Invariants:
 *   H1  What runs is the Node of node_modules, whatever Node the machine has.
 *   H2  Nothing is installed and nothing is built when what is there matches package-lock.json and src; dist must be
 *       as it was written, every file of it.
 *   H3  The started program gets the signals of this one, and its exit code is this one's. Where Node can (22.15 and
 *       later), the program replaces this process, so that there are not even two.
 *   H4  dist is replaced as a whole: no start ever sees half a build.
 *   H5  One process at a time installs, and whoever comes meanwhile waits for it: two would take each other's files away.
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
  // What is tried here is a cluster of its own, unless its settings say otherwise; a node anywhere else is told.
  process.env.CAIRN_BOOTSTRAP ??= 'alone';
  await become([join(dist, 'main.js'), ...args]);
} else {
  fail('Usage: node scripts/bootstrap.mjs run <file> [argument...] | build | start [argument...]');
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
    // Of packages that want a later Node than the machine's npm would warn for pages; none of them runs on that one.
    // Whoever sets a level for npm gets it.
    env: { npm_config_loglevel: 'error', ...process.env, PATH: pathWithoutOwnTools() },
  });
  // Whoever is killed leaves npm at work, which others must wait for all the same.
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

// Whoever installs holds a file that names the processes of it.
async function hasTurn() {
  if (isLeftBehind()) rmSync(installing, { force: true });
  try {
    writeFileSync(installing, `${process.pid}`, { flag: 'wx' });
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
  // Another one may have found the same file left behind, and removed this one in its place.
  await sleep(pollMs);
  return holders() === `${process.pid}`;
}

function isLeftBehind() {
  const { mtimeMs } = statSync(installing, { throwIfNoEntry: false }) ?? {};
  if (mtimeMs === undefined) return false;
  // By then the numbers may be those of other processes.
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

// npm keeps a copy of the lock file of what it has really installed, written last: it differs while an install is
// incomplete. Packages for other platforms are in one and not in the other.
function isInstalled() {
  // A linked node_modules belongs to another working copy, which keeps it.
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

// Another start may be doing the same; whoever comes second finds a fresh dist and drops its own.
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

// How a child ends that gets the signals of this process.
function ended(child) {
  for (const signal of forwardedSignals) {
    process.on(signal, () => {
      // A terminal has sent its Ctrl-C to the child as well; twice would read as "at once".
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
