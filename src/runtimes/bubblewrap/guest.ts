import { writeFileSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { notStarted } from '../host/hostGuest.ts';
import { type HostView, readHostView, readNetworkFiles } from '../host/hostView.ts';
import { prefixesOf } from '../host/interpreters.ts';
import { STATUS_FD } from '../host/launcher.ts';
import { hasOneProgram } from '../host/programGroups.ts';
import { NAMESPACES, StagedGuest } from '../host/stagedGuest.ts';
import { relayProgram } from '../relay/relay.ts';
import type { ByteSource, Command, Enforced, GuestProcess, Relay, RelayWish } from '../runtime.ts';
import { bubblewrapArguments, RELAY_PATH, type RelaySpec, relayArguments } from './arguments.ts';
import { readEnforced } from './enforced.ts';
import { type BubblewrapParts, refuseEarlyCode, SECCOMP_FD, type Start, startProgram } from './program.ts';
import { SharedNetwork } from './sharedNetwork.ts';
import { furnish } from './stage.ts';

/** The relay's program in the stage. */
const RELAY_PROGRAM = 'relay';

/** A sandbox of namespaces: each program of it gets fresh ones over the same files. */
export class BubblewrapGuest extends StagedGuest {
  readonly enforced: Enforced;
  override readonly sharesLoopback = true;
  readonly #parts: BubblewrapParts;
  /** What runs in the sandbox besides programs: it is ended with the guest. */
  readonly #relays = new Set<GuestProcess>();
  readonly #network = new SharedNetwork();
  #sharedRelay: Promise<Relay> | undefined;
  #host: HostView | undefined;

  protected constructor(parts: BubblewrapParts) {
    writeStageFiles(parts);
    super(parts);
    this.#parts = parts;
    this.#host = parts.host;
    this.enforced = readEnforced(parts);
  }

  static create(parts: BubblewrapParts): BubblewrapGuest {
    return new BubblewrapGuest(parts);
  }

  protected async start(command: Command): Promise<GuestProcess> {
    refuseEarlyCode(this.#parts, command);
    const { relay: wish, policy } = this.#parts.spec;
    if (command.relay !== undefined) return this.#startApart(command, command.relay);
    if (policy.network === 'open' || hasOneProgram(this.#parts.spec))
      return this.#startIn(command, undefined);
    const relay = wish && (await this.#takeSharedRelay(wish));
    const program = await this.#network.use((network, made) => this.#startIn(command, network, made));
    return { ...program, ...(relay === undefined ? {} : { relay }) };
  }

  /** In a network of its own, with a relay that ends with it. */
  async #startApart(command: Command, wish: RelayWish): Promise<GuestProcess> {
    const network = new SharedNetwork();
    try {
      const [relay, process] = await this.#startRelay(wish, network);
      const program = await network
        .use((descriptor) => this.#startBeside(command, descriptor))
        .catch(async (error) => {
          await process.kill('SIGKILL');
          throw error;
        });
      const exit = program.exit.finally(() => process.kill('SIGKILL'));
      exit.catch(() => {});
      return { ...program, exit, relay };
    } finally {
      await network.close();
    }
  }

  /** Never in another network than its relay's: where that is gone, not at all. */
  async #startBeside(command: Command, network: number | undefined): Promise<GuestProcess> {
    if (network === undefined) throw notStarted(new Error('the relay of its network has ended'));
    return this.#startIn(command, network);
  }

  #takeSharedRelay(wish: RelayWish): Promise<Relay> {
    this.#sharedRelay ??= this.#startRelay(wish, this.#network).then(
      ([relay]) => relay,
      (error) => {
        // The next program may have more luck.
        this.#sharedRelay = undefined;
        throw error;
      },
    );
    return this.#sharedRelay;
  }

  /** The first process in a network: nothing else of the sandbox is there before it listens. */
  async #startRelay(wish: RelayWish, network: SharedNetwork): Promise<[Relay, GuestProcess]> {
    const argv = [RELAY_PATH, String(wish.port)] as const;
    const limits = { timeoutSec: Number.POSITIVE_INFINITY };
    const command: Command = { argv, env: {}, stdin: 'stream', limits };
    const process = await network.use(async (descriptor, made) => {
      const reports = {
        ...this.#reports(),
        network: descriptor === undefined ? 'own' : 'inherited',
      } as const;
      const view = relayArguments(reports, RELAY_PROGRAM);
      const waiting = await this.takeLauncher('stream', descriptor);
      return startProgram(this.#parts, { command, waiting, view, isOurs: true, made });
    });
    this.#relays.add(process);
    process.exit.catch(() => {}).finally(() => this.#relays.delete(process));
    // It says nothing there that anybody needs; read, so that it never waits.
    drain(process.stderr);
    try {
      return [await wish.attach({ input: process.stdin as Writable, output: process.stdout }), process];
    } catch (error) {
      await process.kill('SIGKILL');
      await process.exit.catch(() => {});
      throw notStarted(error);
    }
  }

  /** In the network of this descriptor, or in a new one, or in the host's where that is open. */
  async #startIn(
    command: Command,
    network: number | undefined,
    made: (pid: number) => void = () => {},
  ): Promise<GuestProcess> {
    return startProgram(this.#parts, await this.prepareStart(command, network, made));
  }

  protected async prepareStart(
    command: Command,
    network?: number,
    made: (pid: number) => void = () => {},
  ): Promise<Start> {
    const isNew = network === undefined && this.#parts.spec.policy.network !== 'open';
    const view = this.#arguments(command, isNew ? 'own' : 'inherited');
    const waiting = await this.takeLauncher(command.stdin, network);
    return { command, waiting, view, isOurs: false, made };
  }

  protected override async release(): Promise<void> {
    const relays = [...this.#relays];
    await Promise.all(relays.map((relay) => relay.kill('SIGKILL')));
    await Promise.allSettled(relays.map((relay) => relay.exit));
    await this.#network.close();
    await super.release();
  }

  protected enterStage(entersNetwork: boolean): string[] {
    const { tools, stage } = this.#parts;
    return [
      tools.nsenter,
      ...(stage.userNamespace === undefined ? [] : [`--user=${NAMESPACES.user}`, '--preserve-credentials']),
      `--mount=${NAMESPACES.mount}`,
      ...(entersNetwork ? [`--net=${NAMESPACES.network}`] : []),
    ];
  }

  #arguments(command: Command, network: 'own' | 'inherited'): string[] {
    const { stage, interpreters, spec } = this.#parts;
    return bubblewrapArguments({
      ...this.#reports(),
      host: this.#takeHostView(),
      prefixes: prefixesOf(interpreters).map((path) => ({ source: stage.bound.get(path) ?? path, path })),
      network,
      networkFiles: readNetworkFiles(command.relay === undefined ? spec.policy.network : 'allowlist'),
      environment: command.env,
    });
  }

  #reports(): Pick<RelaySpec, 'stage' | 'statusFd' | 'seccompFd'> {
    return { stage: this.#parts.stage.mount, statusFd: STATUS_FD, seccompFd: SECCOMP_FD };
  }

  #takeHostView(): HostView {
    const known = this.#host;
    this.#host = undefined;
    return known ?? readHostView();
  }
}

/** What programs find bound from the stage, and what is read when they start. */
function writeStageFiles({ spec, stage, seccomp }: BubblewrapParts): void {
  const { folder } = stage;
  furnish(stage);
  writeFileSync(folder.entry('seccomp'), seccomp, { mode: 0o644, flag: 'wx' });
  const relay = relayProgram(process.arch);
  if (relay && !hasOneProgram(spec))
    writeFileSync(folder.entry(RELAY_PROGRAM), relay, { mode: 0o555, flag: 'wx' });
}

/** Reads to the end, and keeps nothing. */
function drain(source: ByteSource): void {
  (async () => {
    for await (const _ of source);
  })().catch(() => {});
}
