/** A small git repository in a temporary directory, for tests of scripts that read the history. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export interface Authored {
  readonly message: string;
  readonly author?: string;
  /** RFC 3339; commit dates are always later and in order. */
  readonly authoredAt?: string;
}

export class GitRepository implements Disposable {
  readonly dir: string = mkdtempSync(join(tmpdir(), 'cairn-git-'));
  #commits = 0;

  constructor() {
    this.git('init', '--quiet', '--initial-branch=main');
  }

  git(...args: readonly string[]): string {
    const who = this.#identity({ message: '' });
    const env = { PATH: process.env['PATH'], HOME: this.dir, GIT_CONFIG_NOSYSTEM: '1', ...who };
    return execFileSync('git', ['-C', this.dir, ...args], { encoding: 'utf8', env });
  }

  write(path: string, content: string): this {
    mkdirSync(dirname(join(this.dir, path)), { recursive: true });
    writeFileSync(join(this.dir, path), content);
    return this;
  }

  /** A file whose name has these bytes. */
  writeBytes(path: Buffer, content: string): this {
    writeFileSync(Buffer.concat([Buffer.from(`${this.dir}/`), path]), content);
    return this;
  }

  remove(path: string): this {
    rmSync(join(this.dir, path));
    return this;
  }

  /** Commits all files. */
  commit(authored: Authored): string {
    this.git('add', '--all');
    const env = { PATH: process.env['PATH'], HOME: this.dir, ...this.#identity(authored) };
    execFileSync('git', ['-C', this.dir, 'commit', '--quiet', '--allow-empty', '-m', authored.message], { env });
    return this.git('rev-parse', 'HEAD').trim();
  }

  /** Commits with an author line that git would not write, such as `A <a@x> 1315000000 +51800`. */
  craft(author: string): string {
    this.git('add', '--all');
    const parents = this.git('rev-list', '--max-count=1', '--all').trim();
    const header = [
      `tree ${this.git('write-tree').trim()}`,
      ...(parents === '' ? [] : [`parent ${parents}`]),
      `author ${author}`,
      'committer Committer <committer@example.com> 1717200000 +0000',
    ];
    const hash = execFileSync('git', ['-C', this.dir, 'hash-object', '-t', 'commit', '-w', '--stdin', '--literally'], {
      encoding: 'utf8',
      input: `${header.join('\n')}\n\ncrafted\n`,
    }).trim();
    this.git('update-ref', 'refs/heads/main', hash);
    return hash;
  }

  [Symbol.dispose](): void {
    rmSync(this.dir, { recursive: true, force: true });
  }

  #identity({ author = 'Ada', authoredAt }: Authored): Record<string, string> {
    this.#commits += 1;
    const committedAt = `2024-06-01T00:00:${String(this.#commits % 60).padStart(2, '0')}Z`;
    return {
      GIT_AUTHOR_NAME: author,
      GIT_AUTHOR_EMAIL: `${author.toLowerCase()}@example.com`,
      GIT_AUTHOR_DATE: authoredAt ?? committedAt,
      GIT_COMMITTER_NAME: 'Committer',
      GIT_COMMITTER_EMAIL: 'committer@example.com',
      GIT_COMMITTER_DATE: committedAt,
    };
  }
}
