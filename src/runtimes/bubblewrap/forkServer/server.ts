/** One fork server: it is started once, makes programs ready one after another, and ends with us. */
import { randomBytes } from 'node:crypto';
import { closeSync, constants, openSync, writeFileSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { isSandboxError, SandboxError } from '../../../errors.ts';
import { firstChild, type Identity } from '../../host/namespaceInit.ts';
import { leftIn } from '../../host/pipes.ts';
import { allProcesses, readProc, readStat } from '../../host/procfs.ts';
import type { ByteSource, GuestProcess } from '../../runtime.ts';
import {
  type Answer,
  type Beginning,
  beginningLines,
  type ChildLimits,
  makeLine,
  type Preparation,
  parseAnswer,
  type ServerEnds,
} from './protocol.ts';

/** The process that was started, and bubblewrap's init above it. */
export interface ServerProcess {
  readonly program: GuestProcess;
  readonly initPid: number;
  /** What Python says when it fails. */
  readonly complaint: ByteSource;
  /** Gives up what it was made of, once it has ended. */
  release(): void;
}

/** A program that is being made: its keeper waits to be sent off, in no group yet. */
export interface MadeChild {
  /** The keeper, as the host's kernel knows it. */
  readonly keeper: Identity;
  /** The program's user id on this host. */
  readonly uid: number;
  /** Our ends of the pipes; the caller's from now on. */
  readonly ends: ServerEnds;
}

/** How long a server may take for one answer. */
const ANSWER_MS = 20_000;

export class ForkServer {
  readonly #process: ServerProcess;
  readonly #answers: AsyncIterator<string, undefined>;
  #known: ReadonlySet<number> = new Set();
  readonly #firstUid: number | undefined;
  /** Settles when it has ended, for whatever reason. */
  readonly ended: Promise<void>;
  #pid = 0;
  #count = 0;
  #turn: Promise<unknown> = Promise.resolve();
  #failed: SandboxError | undefined;

  private constructor(process: ServerProcess, firstUid: number | undefined) {
    this.#process = process;
    this.#firstUid = firstUid;
    this.#answers = linesOf(process.program.stdout);
    this.ended = process.program.exit.then(
      () => this.#end(),
      () => this.#end(),
    );
    // EPIPE: it has ended, which the next answer that does not come tells.
    process.program.stdin?.on('error', () => {});
  }

  /**
   * Throws `SANDBOX_FAILED` with what the server said when it cannot work here, and `CONFIG_INVALID` for a module that it
   * cannot import.
   */
  static async begin(
    process: ServerProcess,
    beginning: Beginning,
    firstUid: number | undefined,
  ): Promise<ForkServer> {
    const server = new ForkServer(process, firstUid);
    try {
      await server.#begin(beginning);
      return server;
    } catch (error) {
      const said = await leftIn(process.complaint);
      await server.close();
      if (isSandboxError(error) && error.code === 'CONFIG_INVALID') throw error;
      throw said === '' ? error : broken(said.slice(-500), error);
    }
  }

  async #begin(beginning: Beginning): Promise<void> {
    this.#write(beginningLines(beginning));
    if (beginning.isRoot) {
      await this.#expect('map');
      for (const map of ['uid_map', 'gid_map']) {
        writeFileSync(`/proc/${this.#find()}/${map}`, `0 ${this.#firstUid} ${USERS}\n`);
      }
      this.#write('mapped\n');
    }
    await this.#expect('ready');
    this.#pid = this.#find();
  }

  /** The server, which is the one child of bubblewrap's init; known once it has said something. */
  #find(): number {
    const pid = firstChild(this.#process.initPid);
    if (pid === undefined) throw broken('it has ended');
    return pid;
  }

  /** Why it makes no more; undefined while it does. */
  get failed(): SandboxError | undefined {
    return this.#failed;
  }

  /** Rejects with `SANDBOX_FAILED`. One at a time: whoever comes later waits. */
  make(preparation: Preparation, limits: ChildLimits): Promise<MadeChild> {
    const making = this.#turn.then(() => this.#make(preparation, limits));
    this.#turn = making.catch(() => {});
    return making;
  }

  /** Ends it, and with it all that it made. */
  async close(): Promise<void> {
    this.#failed ??= broken('it was closed');
    await this.#process.program.kill('SIGKILL');
    await this.ended;
  }

  #end(): void {
    this.#failed ??= broken('it has ended');
    this.#process.release();
  }

  async #make(preparation: Preparation, limits: ChildLimits): Promise<MadeChild> {
    if (this.#failed) throw this.#failed;
    const id = ++this.#count;
    const opened: number[] = [];
    try {
      this.#write(makeLine(id, preparation, limits));
      const { ends, user } = await this.#expect('made');
      const open = (descriptor: number, flags: number): number => {
        const mine = openSync(`/proc/${this.#pid}/fd/${descriptor}`, flags | constants.O_NONBLOCK);
        opened.push(mine);
        return mine;
      };
      const { O_RDONLY, O_WRONLY } = constants;
      const mine: ServerEnds = {
        stdin: open(ends.stdin, O_WRONLY),
        stdout: open(ends.stdout, O_RDONLY),
        stderr: open(ends.stderr, O_RDONLY),
        orders: open(ends.orders, O_WRONLY),
        report: open(ends.report, O_RDONLY),
      };
      const keeper = this.#newChild();
      this.#write(`opened ${id}\n`);
      const uid = this.#firstUid === undefined ? (process.getuid?.() ?? 0) : this.#firstUid + user;
      return { keeper, uid, ends: mine };
    } catch (error) {
      opened.forEach(closeSync);
      this.#failed = broken((error as Error).message, error);
      throw this.#failed;
    }
  }

  /** The child that was not there before. */
  #newChild(): Identity {
    const listed = readProc(`${this.#pid}/task/${this.#pid}/children`);
    const children =
      listed === undefined
        ? allProcesses().flatMap(({ pid, parent }) => (parent === this.#pid ? [pid] : []))
        : listed.trim().split(' ').filter(Boolean).map(Number);
    const [pid, ...others] = children.filter((child) => !this.#known.has(child));
    const keeper = pid === undefined ? undefined : readStat(pid);
    if (keeper === undefined || others.length > 0) throw new Error('what it made cannot be found');
    this.#known = new Set(children);
    return { pid: keeper.pid, startTime: keeper.startTime };
  }

  async #expect<Is extends Answer['is']>(is: Is): Promise<Extract<Answer, { is: Is }>> {
    const line = await withDeadline(this.#answers.next());
    if (line === undefined || line.done) throw broken('it said nothing');
    const answer = parseAnswer(line.value);
    if (answer.is === 'failed') throw answer.what === 'preload' ? notLoaded(answer.why) : broken(answer.why);
    if (answer.is !== is) throw broken(`it said ${answer.is}`);
    return answer as Extract<Answer, { is: Is }>;
  }

  #write(text: string): void {
    (this.#process.program.stdin as Writable).write(text);
  }
}

/** Behind those of sandboxes that start cold: 4096 servers' users. */
const FIRST_USERS = 0x61000000;

/** The first of the users of a server of root's, in the host's numbers; no account has them. */
export function chooseUsers(): number {
  return FIRST_USERS + (randomBytes(2).readUInt16BE() & 0xfff) * USERS;
}

async function* linesOf(source: ByteSource): AsyncGenerator<string, undefined> {
  let text = '';
  for await (const chunk of source) {
    text += Buffer.from(chunk).toString('latin1');
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      const line = text.slice(0, end);
      text = text.slice(end + 1);
      yield line;
    }
  }
  return undefined;
}

/** How many users a server of root's has to give: two for each program, and its own. */
export const USERS = 65_536;

async function withDeadline<T>(promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ANSWER_MS, undefined);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function notLoaded(why: string): SandboxError {
  return new SandboxError('CONFIG_INVALID', `A module cannot be preloaded: ${why}.`, {
    hint: 'Install it for the interpreter that runs the code, or take it out of what is preloaded (warm.preload).',
  });
}

function broken(why: string, cause?: unknown): SandboxError {
  return new SandboxError('SANDBOX_FAILED', `The fork server does not work here: ${why}.`, {
    hint: 'Programs start cold, or in interpreters that wait one by one. Run: glovebox doctor',
    ...(cause === undefined ? {} : { cause }),
  });
}
